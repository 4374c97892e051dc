import type { z } from 'zod'
import type { createCodesBody, madeCodes } from '../../contract/operate.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import { mintBatchId, mintCodeId } from '../../model/ids.ts'
import { inUsd } from '../../model/money.ts'
import { codesInsert, type NewCode } from '../../store/codes.ts'
import { parseExpiry, unreadableMoment } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { readAmount } from '../read-amount.ts'
import type { Trail } from '../trail/trail.ts'
import { type CodeText, mintCodeText, shownCode } from './code-text.ts'
import { codeView } from './list-codes.ts'

export interface CreateCodesDeps {
  readonly trail: Trail
  readonly clock: Clock
  readonly random: RandomBytes
  /** Of the letters of a code, under a key of the ring. */
  readonly digestCode: (letters: string) => Uint8Array
}

/** Makes all of them or none. `by` says who did, for the operator's records. */
export async function createCodes(
  deps: CreateCodesDeps,
  args: z.output<typeof createCodesBody>,
  by = 'operator',
): Promise<Outcome<z.output<typeof madeCodes>>> {
  const read = readAmount(args.amount)
  if (read.kind === 'refused') return read
  const now = deps.clock.now()
  const expiresAt = args.expires == null ? null : parseExpiry(args.expires, now)
  if (expiresAt === undefined) return unreadableMoment(args.expires ?? '', 'expires')
  const shared = { batch: mintBatchId(deps.random), amount_nano: read.amount, note: args.note, created_at: now }
  const made = Array.from({ length: args.count }, () => {
    const code = mintCodeText(deps.random)
    return { secret: code.text, row: { ...shared, ...own(deps, code), created_by: by, expires_at: expiresAt } }
  })
  const rows = made.map(({ row }) => row)
  const detail = `${rows.length} of ${inUsd(read.amount)} each: ${args.note}`
  await deps.trail.act({ action: 'code_created', target: shared.batch, detail }, [codesInsert(rows)])
  return done({ items: made.map(({ secret, row }) => ({ code: codeView({ ...row, ...UNTOUCHED }, now), secret })) })
}

const own = (
  { random, digestCode }: CreateCodesDeps,
  { text, letters }: CodeText,
): Pick<NewCode, 'id' | 'digest' | 'shown'> => ({
  id: mintCodeId(random),
  digest: digestCode(letters),
  shown: shownCode(text),
})

const UNTOUCHED = {
  ...{ row: 0, withdrawn_at: null, redeemed_by: null, redeemed_at: null, credited_at: null, redeemer: null },
}
