// The tarball: packed twice, installed and started as the page says, on each Node that is named.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { packCommit } from '../../../scripts/release/pack-commit.mjs'
import { findFreePort } from '../../program/free-port.mjs'
import { createRandom } from '../../program/random.mjs'
import { check, commandsUnder, openFolder, ROOT, run, Skip, start, until } from '../lib/machine.mjs'

const PAGE = 'docs/operate/deploy.md'
const random = createRandom(process.pid + 1)

let packed
/** The tarball of this tree, made once. */
export function releaseFolder() {
  packed ??= (async () => {
    const folder = openFolder('release')
    await run(process.execPath, ['scripts/pack.mjs', '--out', folder], { cwd: ROOT })
    return folder
  })()
  return packed
}

export const TARBALL = `millrace-${JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version}.tgz`

export const packageParts = {
  npx: (options) => onEachNode(options, 'Try it with npx'),
  global: (options) => onEachNode(options, 'Install the package'),
  pack: packTwice,
  sbom: readSbom,
}

/** With each Node, and with each npm that runs on it. */
async function onEachNode({ nodes, npm }, heading) {
  const seen = []
  for (const major of nodes === '' ? [undefined] : nodes.split(',')) {
    for (const npmMajor of npm === '' ? [undefined] : npm.split(',')) {
      // npm first: the folder of the current Node has an npm of its own.
      const folders = [...(npmMajor === undefined ? [] : [await findNpm(npmMajor)]), await findNode(major)]
      const path = [...folders, process.env.PATH].join(delimiter)
      const complaint = await npmComplaint(path)
      if (complaint === undefined) seen.push(await followPage(heading, path))
      else console.log(`      left out: ${complaint}`)
    }
  }
  if (seen.length === 0) throw new Skip('no npm that was named runs on these versions of Node')
  return seen.join('; ')
}

/** Why this npm does not run on this Node. */
async function npmComplaint(path) {
  const { out, err } = await run('npm', ['--version'], { env: { ...process.env, PATH: path }, mayFail: true })
  return `${out}${err}`.split('\n').find((line) => /does not support Node/.test(line))
}

/**
 * Runs the commands under a heading in an empty folder with nothing but the tarball, then what the banner says. Then the server is started
 * again by the name that the banner printed, and the ledger verified.
 */
async function followPage(heading, path) {
  const folder = openFolder('page')
  const home = join(folder, 'home')
  mkdirSync(home)
  cpSync(join(await releaseFolder(), TARBALL), join(folder, TARBALL))
  const bin = join(folder, 'prefix', 'bin')
  const environment = {
    ...process.env,
    ...{ HOME: home, XDG_DATA_HOME: join(home, 'share'), PATH: [bin, path].join(delimiter) },
    // Where a person would have the right to write, and which ports are free here.
    npm_config_prefix: join(folder, 'prefix'),
    npm_config_cache: join(ROOT, '.cache', 'npm-cache'),
    MILLRACE_PORT: String(await findFreePort(random)),
    MILLRACE_SERVER__METRICS_PORT: '0',
  }
  const shell = { cwd: folder, env: environment }
  const lines = commandsUnder(PAGE, heading)
  for (const line of lines.slice(0, -1)) await run('bash', ['-ec', line], shell)
  const { banner, stop } = await serveUntilReady(lines.at(-1), shell)
  const { command, flags, curl } = await streamAsBannerSays(banner, shell)
  await askProgram({ command, flags, curl }, shell)
  const versions = (await run('bash', ['-ec', 'echo "Node $(node --version), npm $(npm --version)"'], shell)).out.trim()
  await stop()
  const again = await serveUntilReady(`${command} serve${flags}`, shell)
  await streamBy(curl, shell)
  await again.stop()
  const verified = JSON.parse((await run('bash', ['-ec', `${command} db verify --json${flags}`], shell)).out)
  check(verified.ok && verified.receipts === 2, `the ledger has both answers and balances: ${JSON.stringify(verified)}`)
  return `${versions}, printed ${command}`
}

/** Its version, its word on the configuration if there is one, and the probe of a load balancer. */
async function askProgram({ command, flags, curl }, shell) {
  const version = (await run('bash', ['-ec', `${command} --version`], shell)).out.trim()
  check(TARBALL === `millrace-${version}.tgz`, `the program names the version of the package: ${version}`)
  const [config] = /--config (?:'[^']*'|\S+)/.exec(flags) ?? []
  if (config !== undefined) await run('bash', ['-ec', `${command} check ${config}`], shell)
  const [origin] = /http:\/\/[^/ ]+/.exec(curl)
  const { status } = await fetch(`${origin}/readyz`)
  check(status === 200, `/readyz is 200 on a fresh data folder: ${status}`)
}

async function serveUntilReady(line, shell) {
  const server = start('bash', ['-ec', `exec ${line}`], shell)
  const isReady = () => /Press Ctrl\+C/.test(server.output)
  await until('the banner', () => server.isOver || isReady(), { withinMs: 120_000 })
  check(isReady(), `it starts:\n${server.output}`)
  return {
    banner: server.output,
    async stop() {
      // npm ends with a code of its own.
      await server.stop('SIGINT')
      check(
        /Stopped\. \d+ requests?, 0 lost/.test(server.output),
        `Ctrl+C ends it in order: ${server.output.slice(-300)}`,
      )
    },
  }
}

/** Each command that the banner prints is pasted as it is. Returns how it names the program, and the line that streams. */
export async function streamAsBannerSays(banner, shell) {
  const commands = banner
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => / --data /.test(line))
  check(commands.length > 0, `the banner prints commands:\n${banner}`)
  let key
  for (const command of commands.filter((line) => !/ serve /.test(line))) {
    const { out } = await run('bash', ['-ec', command], shell)
    key = /mr_wallet_\w+/.exec(out)?.[0] ?? key
  }
  const [command] = commands[0].split(/ (?:serve|accounts) /)
  const [flags] = /( --config ('[^']*'|\S+))? --data ('[^']*'|\S+)/.exec(commands[0])
  await run('bash', ['-ec', `${command} status --ready${flags}`], shell)
  const curl = curlLine(banner, key)
  await streamBy(curl, shell)
  return { command, flags, curl, key }
}

async function streamBy(curl, shell) {
  const { out } = await run('bash', ['-ec', curl], shell)
  check(/"content":/.test(out) && out.trimEnd().endsWith('data: [DONE]'), `an answer is streamed: ${out.slice(-300)}`)
}

/** The curl line of a first run; with a configuration there is none, and the key is that of the command before. */
function curlLine(banner, key) {
  const [printed] = /curl -N [\s\S]*?\n {6}-d '.*?'/.exec(banner) ?? []
  if (printed !== undefined) return printed
  const [, api] = /API +(\S+)/.exec(banner)
  const body = '{"model":"demo","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
  return `curl -sN ${api}/chat/completions -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d '${body}'`
}

/** The folder of a Node, from the package registry unless it is the current one. */
export async function findNode(major) {
  if (major === undefined || process.version.startsWith(`v${major}.`)) return dirname(process.execPath)
  const name = `node-${process.platform}-${process.arch}`
  return join(await installTool(`node${major}`, `${name}@${major}`), 'node_modules', name, 'bin')
}

async function findNpm(major) {
  return join(await installTool(`npm${major}`, `npm@${major}`), 'node_modules', '.bin')
}

async function installTool(folder, spec) {
  const prefix = join(ROOT, '.cache', folder)
  if (existsSync(join(prefix, 'node_modules'))) return prefix
  mkdirSync(prefix, { recursive: true })
  const args = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', spec]
  const { code, err } = await run('npm', args, { cwd: prefix, mayFail: true })
  if (code !== 0) throw new Skip(`${spec} could not be installed: ${err.trim().split('\n').at(-1)}`)
  return prefix
}

/** Two clones of the last commit, in folders of other names and with other modes of files. */
async function packTwice() {
  await releaseFolder()
  const folder = mkdtempSync(join(ROOT, '.cache', 'clones-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const first = await packCommit({ root: ROOT, folder: join(folder, 'first'), umask: '022' })
  const second = await packCommit({ root: ROOT, folder: join(folder, 'second clone'), umask: '077' })
  check(first.sums === second.sums, `two packs of one commit are equal:\n${first.sums}\n${second.sums}`)
  const sum = first.sums.split('\n').find((line) => line.endsWith('.tgz'))
  return `two clones, equal: ${sum.slice(0, 16)}…`
}

/** Every package of an installation is in the bill of materials, with its digest. */
async function readSbom() {
  const release = await releaseFolder()
  const sbom = JSON.parse(readFileSync(join(release, TARBALL.replace('.tgz', '.cdx.json')), 'utf8'))
  const listed = new Map(sbom.components.map((component) => [component['bom-ref'], component]))
  const { out } = await run('tar', ['-xzOf', join(release, TARBALL), 'package/npm-shrinkwrap.json'])
  const installed = Object.entries(JSON.parse(out).packages).filter(([path]) => path !== '')
  for (const [path, { version }] of installed) {
    const component = listed.get(`${path.split('node_modules/').at(-1)}@${version}`)
    check(component?.hashes?.[0]?.alg === 'SHA-512', `${path} is listed with its digest`)
  }
  for (const bundled of ['react', '@tanstack/react-router', 'tailwindcss']) {
    check(
      [...listed.keys()].some((ref) => ref.startsWith(`${bundled}@`)),
      `${bundled} is listed, which the console bundles`,
    )
  }
  return `${installed.length} installed packages, ${listed.size - installed.length} bundled in the console`
}
