// PgBouncer in transaction mode before a PostgreSQL of ours.
import { spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isProgram } from './is-program.mjs'
import { unprivilegedUser } from './postgres.mjs'

const PORT = 6432
const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer']

export const findPgBouncer = () => PLACES.find((place) => isProgram(place))

export async function startPgBouncer(program, { host, user }) {
  const folder = mkdtempSync('/tmp/millrace-pgb-')
  const owner = process.getuid?.() === 0 ? await unprivilegedUser() : undefined
  const settings = [
    '[databases]',
    `* = host=${host} port=5432 user=${user}`,
    '[pgbouncer]',
    `unix_socket_dir = ${folder}`,
    `listen_port = ${PORT}`,
    'listen_addr =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 10',
    'max_client_conn = 200',
    `logfile = ${join(folder, 'log')}`,
    `pidfile = ${join(folder, 'pid')}`,
  ]
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, `${settings.join('\n')}\n`)
  if (owner) for (const path of [folder, file]) chownSync(path, owner.uid, owner.gid)
  const child = spawn(program, [file], { ...owner, cwd: folder, env: {}, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const socket = join(folder, `.s.PGSQL.${PORT}`)
  for (let tries = 0; tries < 200 && !(existsSync(socket) && (await accepts(socket))); tries++) await pause(25)
  return {
    urlOf: (database) => `postgres://${user}@localhost:${PORT}/${database}?host=${folder}`,
    async stop() {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const accepts = (path) =>
  new Promise((resolve) => {
    const socket = connect(path)
    const end = (isOpen) => () => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', end(true))
    socket.once('error', end(false))
  })
