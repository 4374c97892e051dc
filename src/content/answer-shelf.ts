import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { type AnswerRow, type AnswerSize, deleteAnswers, insertAnswers, listFirstToGo } from './answers.ts'

/** Deleted at a time, so that whoever wants to keep or read one waits for a few only. */
export const DELETED_AT_ONCE = 50
/** Written in one commit; more is the next one's. */
const WRITTEN_BYTES_MAX = 8 * 1024 * 1024

/** How much lies in the file, and who has to go for whom. */
export interface AnswerShelf {
  /** False when it is larger than all the room there is. */
  add(answer: AnswerRow): Promise<boolean>
  /** Returns how many there were. */
  remove(which: () => Promise<AnswerSize[]>): Promise<number>
}

interface Waiting {
  readonly answer: AnswerRow
  resolve(kept: boolean): void
  reject(error: unknown): void
}

/**
 * One change at a time, because two would make room by the same answers. What comes while one is being written goes
 * together as the next one: a disk that is slow has fewer commits to do, not more to wait for.
 */
export function createAnswerShelf(file: SqliteFile, bytesMax: number, bytesAtStart: number): AnswerShelf {
  let bytesUsed = bytesAtStart
  let last: Promise<unknown> = Promise.resolve()
  const waiting: Waiting[] = []

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
  const end = async (answers: readonly AnswerSize[]): Promise<number> => {
    if (answers.length === 0) return 0
    await deleteAnswers(file, answers)
    bytesUsed -= sizeOf(answers)
    return answers.length
  }
  const makeRoom = async (bytes: number): Promise<void> => {
    while (bytesUsed + bytes > bytesMax) {
      const first = await listFirstToGo(file, DELETED_AT_ONCE)
      if ((await end(enoughOf(first, bytesUsed + bytes - bytesMax))) === 0) return
    }
  }
  const write = async (): Promise<void> => {
    const group = waiting.splice(0, countOfGroup(waiting, Math.min(bytesMax, WRITTEN_BYTES_MAX)))
    if (waiting.length > 0) void inTurn(write)
    const answers = group.map(({ answer }) => answer)
    const bytes = answers.reduce((sum, { sealed }) => sum + sealed.length, 0)
    try {
      await makeRoom(bytes)
      await insertAnswers(file, answers)
      bytesUsed += bytes
      for (const { resolve } of group) resolve(true)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  return {
    async add(answer) {
      if (answer.sealed.length > bytesMax) return false
      return new Promise<boolean>((resolve, reject) => {
        waiting.push({ answer, resolve, reject })
        if (waiting.length === 1) void inTurn(write)
      })
    },
    remove: (which) => inTurn(async () => end(await which())),
  }
}

const sizeOf = (answers: readonly AnswerSize[]): number => answers.reduce((sum, { bytes }) => sum + bytes, 0)

function enoughOf(answers: readonly AnswerSize[], bytes: number): AnswerSize[] {
  const enough: AnswerSize[] = []
  for (const answer of answers) {
    if (sizeOf(enough) >= bytes) break
    enough.push(answer)
  }
  return enough
}

/** As many as fit, and one at least. */
function countOfGroup(waiting: readonly Waiting[], bytesMax: number): number {
  let count = 0
  for (let bytes = 0; count < waiting.length; count++) {
    bytes += waiting[count]!.answer.sealed.length
    if (count > 0 && bytes > bytesMax) break
  }
  return count
}
