import type { Clock } from '../lib/clock.ts'
import { pause } from '../lib/pause.ts'
import type { RowOf, SqliteFile, SqlRow, SqlValue } from './sqlite-file.ts'

/** Shorter rests are not worth a timer; after a long read nobody waits longer than this. */
const REST_MS = { least: 1, most: 5 }
const REST_SHARE = 0.5

/**
 * The same file for those who can wait: of all that they read, one thing at a time is asked of its thread. So whatever is
 * written waits for one of their questions at most, however many people ask. After it they rest for half as long as it took: what
 * asks a million times, as the proof of the books does, leaves a third of a core to everybody else.
 */
export function oneReadAtATime(file: SqliteFile, { ticks }: Pick<Clock, 'ticks'>): SqliteFile {
  let last: Promise<unknown> = Promise.resolve()
  let restMs = 0
  const timed = async <Result>(read: () => Promise<Result>): Promise<Result> => {
    const began = ticks()
    try {
      return await read()
    } finally {
      restMs += (REST_SHARE * (ticks() - began)) / 1000
    }
  }
  const rest = async () => {
    if (restMs < REST_MS.least) return
    const ms = Math.min(restMs, REST_MS.most)
    restMs = 0
    await pause(ms)
  }
  return {
    driver: file.driver,
    atomic: (statements) => file.atomic(statements),
    atomicEach: (groups) => file.atomicEach(groups),
    close: () => file.close(),
    all<Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]) {
      const mine = last.then(() => timed(() => file.all<Row>(sql, parameters)))
      last = mine.catch(() => {}).then(rest)
      return mine
    },
  }
}
