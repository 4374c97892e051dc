// What every part needs: commands, programs that may be missing, folders, and the commands that a page tells.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
export const read = (path) => readFileSync(join(ROOT, path), 'utf8')

/** This machine lacks something that the part needs. */
export class Skip extends Error {}

export function requireProgram(name, { places = ['/usr/sbin', '/usr/local/sbin'] } = {}) {
  const PATH = [process.env.PATH, ...places].join(':')
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8', env: { PATH } })
  if (status !== 0) throw new Skip(`${name} is not installed`)
  return stdout.trim()
}

/** Deleted with this process at the latest. */
export function openFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `millrace-${name}-`))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/** A command to its end. One that fails is thrown with its output, unless `mayFail`. */
export function run(command, args, { mayFail = false, input, ...options } = {}) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options })
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.err += text
  })
  child.stdin.on('error', () => {}).end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0 || mayFail) resolve({ code, ...said })
      else
        reject(
          new Error(
            `${command} ${args.join(' ')} ended with ${code}:\n${said.err.slice(-3000)}${said.out.slice(-2000)}`,
          ),
        )
    })
  })
}

/**
 * A process that serves until `stop`, which signals all that it has started too, as a terminal does. It ends with this process at the
 * latest.
 */
export function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const signal = (name) => {
    try {
      process.kill(-child.pid, name)
    } catch {
      // All of them have ended.
    }
  }
  const kill = () => signal('SIGKILL')
  process.once('exit', kill)
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, by) => resolve(by ?? code))
  }).finally(() => process.off('exit', kill))
  ended.catch(() => {})
  return {
    pid: child.pid,
    ended,
    get output() {
      return output
    },
    get isOver() {
      return child.exitCode !== null || child.signalCode !== null
    },
    async stop(name = 'SIGTERM') {
      signal(name)
      return ended
    },
  }
}

const LOOK_MS = 20

/** Waits until `find` returns something, which may throw meanwhile. */
export async function until(what, find, { withinMs = 30_000 } = {}) {
  const end = performance.now() + withinMs
  let last
  for (;;) {
    try {
      const found = await find()
      if (found) return found
    } catch (error) {
      last = error
    }
    if (performance.now() > end) throw new Error(`${what} did not happen within ${withinMs} ms`, { cause: last })
    await pause(LOOK_MS)
  }
}

/** Rejects if it takes longer. */
export function within(ms, what, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen within ${ms} ms`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The lines of the first block of commands under a heading of a page, as a person would copy them. */
export function commandsUnder(page, heading) {
  const [, section] = read(page).split(`\n## ${heading}\n`)
  const [, block] = /\n```sh\n(.*?)\n```/s.exec(section?.split('\n## ')[0] ?? '') ?? []
  if (block === undefined) throw new Error(`${page} has no commands under "${heading}"`)
  return block
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
}

/** Replaces what is an example in a file or command. An example that is not there would prove nothing. */
export function adapt(text, replacements) {
  return Object.entries(replacements).reduce((adapted, [example, actual]) => {
    if (!adapted.includes(example)) throw new Error(`there is no ${JSON.stringify(example)} to replace in:\n${adapted}`)
    return adapted.replaceAll(example, actual)
  }, text)
}

export function check(isTrue, says) {
  if (!isTrue) throw new Error(`not so: ${says}`)
}
