import { spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Failure } from './failure.mjs'

const STILL_WAITING_MS = 15_000

/** Runs npm in `root`. Its output is shown only if it fails, with advice. */
export async function runNpm(args, { root, print }) {
  const { command, prefix } = npmCommand(process.env, process.execPath)
  const started = Date.now()
  const waiting = setInterval(
    () => print(`  still at it (${Math.round((Date.now() - started) / 1000)} s)`),
    STILL_WAITING_MS,
  )
  try {
    const { code, output } = await collect(command, [...prefix, ...args, ...cacheArgs(process.env, root)], root)
    if (code === 0) return
    throw new Failure(`${output.trim()}\n\nnpm ${args[0]} failed (exit ${code}).`, adviceFor(output))
  } finally {
    clearInterval(waiting)
  }
}

function collect(command, args, cwd) {
  // Windows finds npm.cmd only through a shell. No argument comes from outside.
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32' && command === 'npm',
  })
  return new Promise((resolve, reject) => {
    let output = ''
    const keep = (chunk) => {
      output += chunk
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.once('error', (error) =>
      reject(
        new Failure(
          `npm could not be started (${error.code}).`,
          'npm comes with Node: install Node from https://nodejs.org/en/download and see that npm is in the PATH.',
          error,
        ),
      ),
    )
    child.once('close', (code, signal) => resolve({ code: code ?? signal, output }))
  })
}

/** The npm that started this process, else the one of this Node, else the one in PATH. */
export function npmCommand(env, execPath) {
  const besideNode = join(dirname(execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js')
  const script = [env.npm_execpath, besideNode].find(
    (path) => path !== undefined && basename(path) === 'npm-cli.js' && existsSync(path),
  )
  return script === undefined ? { command: 'npm', prefix: [] } : { command: execPath, prefix: [script] }
}

/** If the home folder is not writable, npm keeps its cache in the checkout. */
function cacheArgs(env, root) {
  const usual =
    env.npm_config_cache ?? join(homedir(), process.platform === 'win32' ? 'AppData/Local/npm-cache' : '.npm')
  return isWritable(usual) ? [] : ['--cache', join(root, '.cache', 'npm')]
}

/** Whether a folder can be written or created. */
function isWritable(folder) {
  if (!existsSync(folder)) return dirname(folder) !== folder && isWritable(dirname(folder))
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const CURES = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED|ERR_SOCKET_TIMEOUT|network/i,
    'The package registry cannot be reached. The first start needs it once: connect this machine, or name a mirror\n' +
      '(npm config set registry https://...), then run the same command again. Later starts need no network.',
  ],
  [/ENOSPC/, 'The disk is full: free some space, then run the same command again.'],
  [/EACCES|EPERM|EROFS/, 'This folder is not writable: run the command once as its owner.'],
  [/EINTEGRITY/, 'A downloaded package is damaged: run npm cache verify, then the same command again.'],
  [
    /EUSAGE|in sync/,
    'package.json and package-lock.json do not belong together: take both from one commit, or run npm install.',
  ],
]

export const adviceFor = (output) =>
  CURES.find(([pattern]) => pattern.test(output))?.[1] ??
  'The lines above are from npm. Fix their cause, then run the same command again.'
