// The systemd unit and the Debian package.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { findFreePort } from '../../program/free-port.mjs'
import { createRandom } from '../../program/random.mjs'
import { check, commandsUnder, openFolder, ROOT, read, requireProgram, run, start, until } from '../lib/machine.mjs'
import { releaseFolder, streamAsBannerSays } from './packages.mjs'

const UNIT = 'deploy/systemd/millrace.service'
/** The worst that `systemd-analyze security` may say; 10 is a process without any protection. */
const EXPOSURE_MAX = 1.5
const random = createRandom(process.pid + 2)

export const serviceParts = { systemd, deb }

/** Without a running systemd: its own checks of the unit, and the unit's command with the unit's environment. */
async function systemd() {
  const program = requireProgram('systemd-analyze')
  const root = openFolder('systemd')
  const put = (from, to) => {
    mkdirSync(dirname(join(root, to)), { recursive: true })
    cpSync(from, join(root, to), { dereference: true })
  }
  put(join(ROOT, UNIT), 'etc/systemd/system/millrace.service')
  // `verify` looks for the programs that the unit names, and for the units that it waits for.
  const bin = join(root, 'usr', 'bin')
  mkdirSync(bin, { recursive: true })
  for (const name of ['millrace', 'kill']) writeFileSync(join(bin, name), '#!/bin/sh\n', { mode: 0o755 })
  for (const folder of ['/usr/lib/systemd/system', '/lib/systemd/system'].filter(existsSync).slice(0, 1))
    put2(folder, root)
  const verified = await run(program, ['verify', '--man=no', `--root=${root}`, 'millrace.service'], { mayFail: true })
  const complaints = `${verified.out}${verified.err}`.split('\n').filter((line) => line.includes('millrace'))
  check(complaints.length === 0, `systemd-analyze verify has nothing to say:\n${complaints.join('\n')}`)

  const { out } = await run(program, ['security', '--offline=true', '--no-pager', join(ROOT, UNIT)], { mayFail: true })
  const exposure = Number(/Overall exposure level for millrace.service: ([\d.]+)/.exec(out)?.[1])
  check(exposure <= EXPOSURE_MAX, `an exposure of at most ${EXPOSURE_MAX}, not ${exposure}`)
  return `verified; exposure ${exposure} of 10`
}

function put2(folder, root) {
  for (const name of readdirSync(folder).filter((each) =>
    /^(sysinit|basic|shutdown|network-online|network|multi-user)\.target$/.test(each),
  )) {
    const to = join(root, 'usr/lib/systemd/system')
    mkdirSync(to, { recursive: true })
    cpSync(join(folder, name), join(to, name), { dereference: true })
  }
}

/** What the unit sets, as a process gets it. */
export function unitEnvironment() {
  const lines = read(UNIT)
    .split('\n')
    .flatMap((line) => /^Environment=(\w+)=(.*)$/.exec(line)?.slice(1, 3) ?? [])
  return Object.fromEntries(lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1]]] : [])))
}

/** Made as the page says, unpacked, and its program started with the environment of its unit. */
async function deb() {
  requireProgram('dpkg-deb')
  const release = await releaseFolder()
  const [, make] = commandsUnder('docs/operate/systemd.md', 'As a Debian package')
  const [command, ...words] = make.split(' ')
  await run(command, [...words, '--out', release], { cwd: ROOT })
  const name = readdirSync(release).find((each) => each.endsWith('.deb'))
  const { out: info } = await run('dpkg-deb', ['--info', join(release, name)])
  check(/Depends: nodejs \(>= 20\.19\)/.test(info), 'it depends on Node 20.19')
  const root = openFolder('deb')
  await run('dpkg-deb', ['--raw-extract', join(release, name), root])
  for (const script of ['postinst', 'prerm', 'postrm']) await run('sh', ['-n', join(root, 'DEBIAN', script)])
  check(
    readFileSync(join(root, 'DEBIAN', 'conffiles'), 'utf8').trim() === '/etc/millrace/millrace.yaml',
    'the configuration is kept',
  )
  await keepsDataUnlessAsked(root)

  const data = join(root, 'var', 'lib', 'millrace')
  mkdirSync(data, { recursive: true })
  const bin = join(root, 'node')
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'node'))
  const env = {
    ...unitEnvironment(),
    PATH: [join(root, 'usr', 'bin'), bin, process.env.PATH].join(delimiter),
    HOME: '/nonexistent',
    MILLRACE_CONFIG: join(root, 'etc/millrace/millrace.yaml'),
    MILLRACE_DATA: data,
    MILLRACE_TELEMETRY__LOG__FORMAT: 'pretty',
    MILLRACE_PORT: String(await findFreePort(random)),
    MILLRACE_SERVER__METRICS_PORT: '0',
  }
  const shell = { cwd: root, env }
  const [, unitCommand] = /^ExecStart=(.*)$/m.exec(read(UNIT))
  const server = start('sh', ['-c', `exec ${unitCommand}`], shell)
  const [, readyCommand] = /^ExecStartPost=(.*)$/m.exec(read(UNIT))
  await run('sh', ['-c', readyCommand], { ...shell, env: { ...env, MAINPID: String(server.pid) } })
  const banner = await until('the banner', () => /Press Ctrl\+C/.test(server.output) && server.output)
  const { command: printed } = await streamAsBannerSays(banner, shell)
  check(printed === 'millrace', `the banner prints millrace, not ${printed}`)
  check((await server.stop()) === 0, 'it ends with 0')
  return `${name}, started with the command and environment of its unit`
}

/** The script that purging runs, on a copy of the folder. */
async function keepsDataUnlessAsked(root) {
  const data = join(root, 'purged')
  const script = readFileSync(join(root, 'DEBIAN', 'postrm'), 'utf8').replaceAll('/var/lib/millrace', data)
  for (const [asked, kept] of [
    ['no', true],
    ['yes', false],
  ]) {
    mkdirSync(data, { recursive: true })
    const env = { PATH: process.env.PATH, MILLRACE_PURGE_DATA: asked }
    await run('sh', ['-c', script, 'postrm', 'purge'], { env })
    check(existsSync(data) === kept, `purging ${kept ? 'keeps' : 'deletes'} the data`)
  }
}
