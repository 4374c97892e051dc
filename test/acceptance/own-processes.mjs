import { spawn, spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

const LAST_WORDS_MS = 5_000

const running = new Set()

/**
 * Ends a process and all that it has started, each by its own number. Groups would not do: timeout(1) and some clients
 * make groups of their own.
 */
function end(child, signal) {
  for (const pid of [...descendantsOf(child.pid), child.pid]) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended by itself.
    }
  }
}

function descendantsOf(pid) {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
  const rows = (stdout ?? '').split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const below = (parent) => rows.flatMap(([child, of]) => (of === parent ? [child, ...below(child)] : []))
  return below(pid)
}

process.on('exit', () => endAll())

/** Servers hold the process open: a script calls this when it has finished. */
export const endAll = () => {
  for (const child of running) end(child, 'SIGKILL')
}

function start(command, args, { cwd, env = {}, stdio }) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio })
  running.add(child)
  const exited = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: -1, error }))
    child.once('exit', (code, signal) => resolve({ code: code ?? -1, signal }))
  }).finally(() => running.delete(child))
  return { child, exited }
}

/** Runs a command to its end. Its output is returned, and shown as it comes if `shown`. */
export async function runToEnd(command, args, { cwd, env, withinMs, shown = false }) {
  const { child, exited } = start(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const emitted = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      emitted[name] += text
      if (shown) process[name].write(text)
    })
  }
  // It may have ended before the last of what it said has come through its pipes; a grandchild may hold them for ever.
  const closed = new Promise((resolve) => child.once('close', resolve))
  let late = false
  const timer = setTimeout(() => {
    late = true
    end(child, 'SIGKILL')
  }, withinMs)
  const { code, error } = await exited
  clearTimeout(timer)
  await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })])
  return { code, late, stdout: emitted.stdout, stderr: emitted.stderr + (error?.message ?? '') }
}

/** Starts a server and resolves to what `ready` makes of its first words on stdout. */
export async function startUntil(ready, command, args, { cwd, env, withinMs = 20_000 }) {
  const { child, exited } = start(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let emitted = ''
  const isReady = new Promise((resolve, reject) => {
    const refuse = (why) => reject(new Error(`${args[0]} ${why}:\n${emitted}`))
    const timer = setTimeout(refuse, withinMs, 'did not get ready')
    exited.then(() => refuse('ended'))
    child.stdout.setEncoding('utf8').on('data', (text) => {
      emitted = (emitted + text).slice(-4000)
      const found = ready.exec(emitted)
      if (!found) return
      clearTimeout(timer)
      resolve(found)
    })
  })
  return isReady
}
