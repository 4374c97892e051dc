import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { type AnswerRow, type AnswerSize, deleteAnswers, insertAnswers, listFirstToGo } from './answers.ts'
import { createWriteQueue } from './write-queue.ts'

/** Deleted at a time, so that whoever wants to keep or read one waits for a few only. */
export const DELETED_AT_ONCE = 50

/** How much lies in the file, and who has to go for whom. */
export interface AnswerShelf {
  /** False when it is larger than all the room there is. */
  add(answer: AnswerRow): Promise<boolean>
  /** Returns how many there were. */
  remove(which: () => Promise<AnswerSize[]>): Promise<number>
}

export function createAnswerShelf(file: SqliteFile, bytesMax: number, bytesAtStart: number): AnswerShelf {
  let bytesUsed = bytesAtStart

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
  const bytesOf = ({ sealed }: AnswerRow): number => sealed.length
  const queue = createWriteQueue<AnswerRow, true>({
    bytesOf,
    bytesMax,
    async write(answers) {
      const bytes = answers.reduce((sum, answer) => sum + bytesOf(answer), 0)
      await makeRoom(bytes)
      await insertAnswers(file, answers)
      bytesUsed += bytes
      return answers.map(() => true)
    },
  })

  return {
    add: async (answer) => (bytesOf(answer) > bytesMax ? false : queue.add(answer)),
    remove: (which) => queue.inTurn(async () => end(await which())),
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
