// The image, built by buildah on a base that is made here, and run by bubblewrap as an engine would run it.
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../../program/free-port.mjs'
import { createRandom } from '../../program/random.mjs'
import { chatBody, send } from '../lib/client.mjs'
import { check, commandsUnder, ROOT, requireProgram, run, start } from '../lib/machine.mjs'
import { findNode } from './packages.mjs'

const PAGE = 'docs/operate/container.md'
const KEPT = join(ROOT, '.cache', 'container')
const STORAGE = ['--storage-driver', 'vfs', '--root', join(KEPT, 'storage'), '--runroot', join(KEPT, 'run')]
const BASE = 'localhost/millrace-base'
const NODE = '22'
const random = createRandom(process.pid + 4)

export const containerParts = { container }

async function container({ image: built }) {
  for (const name of ['buildah', 'debootstrap', 'bwrap', 'setpriv']) requireProgram(name)
  const buildah = (...words) => run('buildah', [...STORAGE, ...words], { cwd: ROOT })
  const [build] = commandsUnder(PAGE, 'Build')
  const image = built || /--tag (\S+)/.exec(build)[1]
  if (built === '') {
    await makeBase(buildah)
    const words = build.replace(/^docker build /, '').split(' ')
    await buildah('build', '--isolation', 'chroot', '--layers=false', '--build-arg', `BASE=${BASE}`, ...words)
  }
  const { config } = JSON.parse((await buildah('inspect', '--type', 'image', image)).out).OCIv1
  const id = (await buildah('from', image)).out.trim()
  try {
    const root = (await buildah('mount', id)).out.trim()
    return await serveFrom(root, config)
  } finally {
    await buildah('rm', id)
  }
}

/** Debian, the Node of the real base, and the npm of this machine. */
async function makeBase(buildah) {
  const debian = join(KEPT, 'debian')
  if (!existsSync(join(debian, 'usr', 'bin', 'setpriv'))) {
    rmSync(debian, { recursive: true, force: true })
    mkdirSync(KEPT, { recursive: true })
    await run('debootstrap', ['--variant=minbase', 'bookworm', debian])
  }
  cpSync(join(await findNode(NODE), 'node'), join(debian, 'usr/local/bin/node'))
  const npm = join((await run('npm', ['root', '--global'])).out.trim(), 'npm')
  cpSync(npm, join(debian, 'usr/local/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx'])
    await run('ln', ['-sf', `../lib/node_modules/npm/bin/${name}-cli.js`, join(debian, 'usr/local/bin', name)])
  const id = (await buildah('from', 'scratch')).out.trim()
  await buildah('copy', '--quiet', id, debian, '/')
  // A machine behind a proxy of its own has further authorities.
  const authorities = process.env.NODE_EXTRA_CA_CERTS
  if (authorities !== undefined) {
    await buildah('copy', '--quiet', id, authorities, '/etc/authorities.pem')
    await buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/authorities.pem', id)
  }
  await buildah('config', '--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', id)
  await buildah('commit', '--quiet', '--rm', id, BASE)
}

/** As `docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges` on the network of this machine. */
async function serveFrom(root, config) {
  const data = mkdtempSync('/var/tmp/millrace-volume-')
  process.once('exit', () => rmSync(data, { recursive: true, force: true }))
  const [uid, gid] = config.User.split(':').map(Number)
  check(uid > 0 && gid > 0, `the image has a user that is not root: ${config.User}`)
  chownSync(data, uid, gid)
  chmodSync(data, 0o755)
  const port = await findFreePort(random)
  const inside = (...command) => insideImage({ root, data, uid, gid, config, port }, command)

  const server = start('bwrap', inside(...config.Entrypoint, ...config.Cmd))
  const exec = (words) => run('bwrap', inside('sh', '-ec', words))
  const [, ready, ...first] = [...commandsUnder(PAGE, 'Run'), ...secondBlock()]
  try {
    await exec(ready.replace('docker exec millrace ', ''))
    await exec(config.Healthcheck?.Test?.slice(1).join(' ') ?? 'millrace status --ready')
    let key
    for (const line of first)
      key = /mr_wallet_\w+/.exec((await exec(line.replace('docker exec millrace ', ''))).out)?.[0]
    const answer = await send({ url: `http://127.0.0.1:${port}`, key }, '/v1/chat/completions', { body: chatBody() })
    check((await answer.text()).endsWith('data: [DONE]\n\n'), 'the container streams an answer')
    const written = await run('bwrap', inside('sh', '-c', 'touch /opt/millrace/x || touch /etc/x'), { mayFail: true })
    check(written.code !== 0, 'its root cannot be written')
  } catch (error) {
    throw new Error(`${error.message}\n${server.output}`, { cause: error })
  }
  // What an engine signals is process 1 of the container.
  const [pid] = (await run('ps', ['--no-headers', '-o', 'pid', '--ppid', String(server.pid)])).out.trim().split(/\s+/)
  process.kill(Number(pid), 'SIGTERM')
  check((await server.ended) === 0, `SIGTERM ends it with 0: ${server.output.slice(-500)}`)
  return `built by buildah on Debian; user ${config.User}, read-only root, process 1, SIGTERM`
}

/** The commands that make the first account are the second block under the heading. */
function secondBlock() {
  const page = readFileSync(join(ROOT, PAGE), 'utf8').split('\n## Run\n')[1]
  const [, , block] = /```sh\n(.*?)```.*?```sh\n(.*?)```/s.exec(page) ?? []
  return block.trim().split('\n')
}

function insideImage({ root, data, uid, gid, config, port }, command) {
  const environment = [...config.Env, `MILLRACE_PORT=${port}`, 'MILLRACE_SERVER__METRICS_PORT=0', 'HOME=/tmp']
  return [
    ...['--ro-bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...['--bind', data, '/var/lib/millrace', '--unshare-pid', '--unshare-ipc', '--as-pid-1', '--clearenv'],
    ...environment.flatMap((each) => ['--setenv', ...splitOnce(each)]),
    ...['--chdir', config.WorkingDir, '--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'],
    ...['setpriv', '--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--no-new-privs', '--'],
    ...command,
  ]
}

function splitOnce(text) {
  const at = text.indexOf('=')
  return [text.slice(0, at), text.slice(at + 1)]
}
