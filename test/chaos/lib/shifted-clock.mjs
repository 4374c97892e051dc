// Loaded into the server, its commands and this process (`node --import`): the wall clock is ahead by as much as a file says, so that
// days and weeks pass between two lives of a server. The file is read once, at the start of a process.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const { now } = Date
const file = process.env.CHAOS_CLOCK_FILE
let aheadMs = file !== undefined && existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0

Date.now = () => now() + aheadMs

/** The environment of processes whose clock is that of the file. */
export const clockEnvironment = (path) => ({ NODE_OPTIONS: `--import=${import.meta.url}`, CHAOS_CLOCK_FILE: path })

/** Moves the clock of this process, and of those that start from now on. */
export function passTime(path, ms) {
  aheadMs += Math.round(ms)
  writeFileSync(path, String(aheadMs))
}
