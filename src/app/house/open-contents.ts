import { createRefusedTurnCounter } from '../../account/usage/count-refused-turns.ts'
import { withMarks } from '../../content/content-ledger.ts'
import { createStoredResponses } from '../../content/create-stored-responses.ts'
import { createKeptAnswers } from '../../content/kept-answers.ts'
import type { Closing } from '../../lib/closing.ts'
import type { SqliteFile } from '../../sqlite/sqlite-file.ts'
import type { DatabaseRing } from '../ring/check-ring.ts'
import { openContentOfLedger } from './open-content-of-ledger.ts'
import type { Contents, Foundation } from './parts.ts'

/** So much of these counts a crash may take with it. */
const REFUSED_INTERVAL_MS = 5000

/** Before the books, because their recovery asks which answers were kept; closed after them. */
export async function openContents(foundation: Foundation, closing: Closing): Promise<Contents> {
  const { clock, log } = foundation
  const { built, ...found } = await openContentOfLedger(foundation, async (file, mark) => {
    foundation.progress.mark = mark
    return keepIn(
      withMarks(file, () => foundation.progress.mark),
      foundation,
    )
  })
  const { content, failed } = built
  closing.add(() => content.close())
  if (failed > 0) log.warn({ responses: failed }, 'responses that were running when the server stopped have failed')
  const refusedTurns = createRefusedTurnCounter({
    ...{ content, clock, intervalMs: REFUSED_INTERVAL_MS },
    onFailure: (error) =>
      log.error({ error }, 'how many requests were refused could not be written; it is tried again'),
  })
  closing.add(() => refusedTurns.close())
  return { ...built, refusedTurns, contentFound: found }
}

/** What is kept in the file, and how many responses a dead process has left running in it. */
async function keepIn(file: SqliteFile, { config: { retention }, clock, ring, log }: Foundation) {
  const now = () => clock.now()
  const keys = sealingKeysOf(ring)
  const answers = await createKeptAnswers({
    ...{ file, keys, now, bytesMax: retention.idempotencyBytesMax },
    onFailure: (error) => log.error({ error }, 'an answer could not be kept; it is charged, and cannot be given again'),
  })
  const responses = createStoredResponses({
    ...{ file, ring: keys, now, bytesMax: retention.stateBytesMax },
    onFailure: (error) => log.error({ error }, 'a stored response could not be written or read'),
  })
  return { content: file, answers, responses, failed: await responses.recover() }
}

/** What lies there from before a ring could be rotated is sealed by the founding key, under what the operator calls it. */
const sealingKeysOf = ({ keys, founding }: DatabaseRing): DatabaseRing['keys'] => [
  ...keys,
  { ...founding, id: founding.label },
]
