import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { Failure, fail } from './bootstrap/failure.mjs'
import { filesBelow } from './bootstrap/fingerprint.mjs'
import { runNpm } from './bootstrap/run-npm.mjs'
import { ROOT } from './bootstrap.mjs'

// node scripts/make-deb.mjs [--out release]: a Debian package from the tarball that scripts/pack.mjs has written there. It contains its
// dependencies, so that its installation needs no package registry.
const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'release') } } })

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64', arm: 'armhf' }
/** 2026-11-20: dates in the package may not depend on when it is made. */
const EPOCH = '1795132800'

await makeDeb(resolve(values.out)).catch(fail)

async function makeDeb(out) {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const tarball = join(out, `${name}-${version}.tgz`)
  if (!existsSync(tarball)) throw new Failure(`${tarball} does not exist.`, 'Make it first: node scripts/pack.mjs')
  const architecture = ARCHITECTURES[process.arch]
  if (architecture === undefined) throw new Failure(`Debian's name for ${process.arch} is not known.`, 'Add it here.')

  const staged = join(ROOT, '.cache', 'deb')
  rmSync(staged, { recursive: true, force: true })
  await installProgram(staged, tarball)
  installDeployment(staged)
  normalizeModes(staged)
  const size = Math.ceil(sizeOf(staged) / 1024)
  writeControl(staged, { version, architecture, size })

  const deb = join(out, `${name}_${version}_${architecture}.deb`)
  run('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', staged, deb])
  rmSync(staged, { recursive: true })
  process.stdout.write(`${deb}\n`)
}

async function installProgram(staged, tarball) {
  const prefix = join(staged, 'npm')
  mkdirSync(prefix, { recursive: true })
  const print = (line) => process.stderr.write(`${line}\n`)
  const args = ['install', '--global', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', tarball]
  await runNpm(args, { root: staged, print })
  mkdirSync(join(staged, 'usr/lib'), { recursive: true })
  mkdirSync(join(staged, 'usr/bin'), { recursive: true })
  renameSync(join(prefix, 'lib/node_modules/millrace'), join(staged, 'usr/lib/millrace'))
  rmSync(prefix, { recursive: true })
  // npm's note about this installation.
  rmSync(join(staged, 'usr/lib/millrace/node_modules/.package-lock.json'), { force: true })
  symlinkSync('../lib/millrace/dist/app/main.js', join(staged, 'usr/bin/millrace'))
}

function installDeployment(staged) {
  const put = (from, to) => {
    mkdirSync(join(staged, to, '..'), { recursive: true })
    cpSync(join(ROOT, from), join(staged, to))
  }
  put('deploy/systemd/millrace.service', 'usr/lib/systemd/system/millrace.service')
  put('deploy/systemd/millrace.sysusers', 'usr/lib/sysusers.d/millrace.conf')
  put('deploy/debian/millrace.yaml', 'etc/millrace/millrace.yaml')
  put('NOTICE', 'usr/share/doc/millrace/copyright')
  const changes = gzipSync(readFileSync(join(ROOT, 'CHANGELOG.md')), { level: 9 })
  writeFileSync(join(staged, 'usr/share/doc/millrace/changelog.gz'), changes)
}

/** Whatever the umask is. The maintainer scripts give the configuration to the service's group. */
function normalizeModes(staged) {
  run('find', [staged, '-type', 'd', '-exec', 'chmod', '0755', '{}', '+'])
  run('find', [staged, '-type', 'f', '-exec', 'chmod', '0644', '{}', '+'])
  chmodSync(join(staged, 'usr/lib/millrace/dist/app/main.js'), 0o755)
}

function writeControl(staged, facts) {
  const folder = join(staged, 'DEBIAN')
  mkdirSync(folder)
  const control = readFileSync(join(ROOT, 'deploy/debian/control'), 'utf8')
  writeFileSync(
    join(folder, 'control'),
    control.replace(/\{(\w+)\}/g, (_, fact) => facts[fact]),
  )
  writeFileSync(join(folder, 'conffiles'), '/etc/millrace/millrace.yaml\n')
  for (const script of ['postinst', 'prerm', 'postrm']) {
    cpSync(join(ROOT, 'deploy/debian', script), join(folder, script))
    chmodSync(join(folder, script), 0o755)
  }
  chmodSync(folder, 0o755)
  for (const name of ['control', 'conffiles']) chmodSync(join(folder, name), 0o644)
}

/** Without what symbolic links point to. */
function sizeOf(folder) {
  return filesBelow(folder).reduce((sum, path) => sum + lstatSync(join(folder, path)).size, 0)
}

function run(command, args) {
  const env = { ...process.env, SOURCE_DATE_EPOCH: EPOCH }
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env })
  if (status === 0) return
  const why = error?.code === 'ENOENT' ? 'it is not installed' : stderr
  throw new Failure(`${command} failed: ${why}`, 'This script needs a Debian system.')
}
