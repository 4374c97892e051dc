import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DestinationOptions, openLogDestination } from './log.ts'

/** A disk without room, where the machine has one. */
const FULL = '/dev/full'

let folder: string
const opened = new Set<number>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-log-'))
})
afterEach(() => {
  vi.useRealTimers()
  for (const descriptor of opened) close(descriptor)
  rmSync(folder, { recursive: true, force: true })
})

const open = (to: number, options: Partial<DestinationOptions> = {}) => {
  opened.add(to)
  return openLogDestination({ to, gatherBytes: 1024, flushEveryMs: 60_000, onDropped: () => {}, ...options })
}

function close(descriptor: number): void {
  closeSync(descriptor)
  opened.delete(descriptor)
}

/** A pipe in the file system, with or without a reader. */
function makePipe(): string {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  return path
}

describe('a log whose reader', () => {
  it('takes everything has all lines in order, in pieces of any size', async () => {
    const path = join(folder, 'log')
    const log = open(openSync(path, 'a'))
    const lines = Array.from({ length: 300 }, (_, index) => `${index} ${'ä'.repeat((index * 37) % 4_000)}\n`)
    for (const line of lines) log.write(line)
    await log.close()
    expect(readFileSync(path, 'utf8')).toBe(lines.join(''))
  })

  it('has stalled keeps what there is room for, and the number of lost lines is logged when it reads again', async () => {
    const path = makePipe()
    const to = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    const lost: number[] = []
    const log = open(to, { onDropped: (lines) => lost.push(lines) })
    for (let count = 0; count < 10_000; count += 1) log.write(`${count} ${'x'.repeat(1_000)}\n`)
    expect(lost).toEqual([])
    const reader = spawn('cat', [path])
    const read = text(reader.stdout)
    await vi.waitUntil(() => lost.length > 0, { timeout: 30_000 })
    log.write('taken again\n')
    await log.close()
    close(to)
    const numbers = (await read).split('\n').map((line) => line.split(' ')[0])
    expect(numbers.slice(0, -2)).toEqual(Array.from({ length: 10_000 - (lost[0] ?? 0) }, (_, count) => `${count}`))
    expect(numbers.slice(-2)).toEqual(['taken', ''])
    expect(lost).toEqual([10_000 - numbers.length + 2])
  })

  it('is closed costs neither errors nor time', async () => {
    // No wait is ever over: the end does not come from patience.
    vi.useFakeTimers()
    const path = makePipe()
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const log = open(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK))
    closeSync(reader)
    log.write('to nobody\n')
    await log.close()
    log.write('to nobody either\n')
    await log.close()
  })

  it.skipIf(!existsSync(FULL))('is a full disk ends when it is told to', async () => {
    vi.useFakeTimers()
    const log = open(openSync(FULL, 'w'))
    // It stays open: a write to its number may be in flight, and the next file would get that number.
    opened.clear()
    log.write('no room\n')
    const closed = log.close()
    await vi.advanceTimersByTimeAsync(2_000)
    await closed
  })
})

describe('a process that ends without closing its log', () => {
  it('writes what was gathered', () => {
    const path = join(folder, 'log')
    const end = endAfter(() => open(openSync(path, 'a')).write('the last line\n'))
    expect(readFileSync(path, 'utf8')).toBe('')
    end()
    expect(readFileSync(path, 'utf8')).toBe('the last line\n')
  })

  it.skipIf(!existsSync(FULL))('does not wait for room on a disk', () => {
    const end = endAfter(() => open(openSync(FULL, 'w')).write('no room\n'))
    end()
  })

  it('does not wait for a closed reader', () => {
    const path = makePipe()
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const end = endAfter(() => open(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)).write('to nobody\n'))
    closeSync(reader)
    end()
  })
})

/** What would happen at the end of this process because of `run`. */
function endAfter(run: () => void): () => void {
  const before = new Set<unknown>(process.listeners('exit'))
  run()
  const added = process.listeners('exit').filter((listener) => !before.has(listener))
  for (const listener of added) process.off('exit', listener)
  return () => {
    for (const listener of added) listener.call(process, 1)
  }
}
