import type { ReceiptsTable } from '../../../src/db/tables.ts'
import { delivered } from '../../fakes/delivered.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { perform } from './actions.ts'
import type { Column } from './columns.ts'
import { bodyOf, callersOf, openParticipant, type Participant, type RequestInput, sendTurn } from './participants.ts'
import { preparationOf, type StageContext, type Undo } from './preparations.ts'
import type { Played, Stage } from './stage.ts'
import { responsesOf } from './stored-responses.ts'
import { expectedOf, foundOf, type Judged } from './verdict.ts'

/** Plays one ending in one column for all callers at once: a wallet and a builder key, with and without an Idempotency-Key. */
export async function playEnding(stage: Stage, column: Column, played: Played): Promise<Judged> {
  const { ending, course } = played
  const server = stage.serverFor(ending)
  const { provider } = stage
  provider.reset()
  const preparation = preparationOf(ending.before)
  const participants = await Promise.all(
    callersOf(ending).map((caller) => openParticipant(server, caller, preparation.setupOptions)),
  )
  const stageContext: StageContext = { server, column, played, participants }
  const unprepare = await prepare(stageContext, stage)
  const before = await Promise.all(participants.map(({ account }) => account.receipts()))
  const storedBefore = await Promise.all(participants.map(({ account }) => responsesOf(stageContext, account.id)))

  const askings = participants.map((who) => sendAs(stageContext, who))
  let undo: Undo | undefined
  if (course.provider.some((steps) => steps.includes('pause'))) {
    await until(() => provider.waiting === participants.length)
    await until(() => askings.every((requesting) => hasCome(requesting, stageContext)))
    // What is collected shows nothing of how far it has come.
    await delivered()
    undo = await perform(ending.act, { ...stageContext, provider, askings })
    provider.goOn()
  }
  await Promise.all(askings.map(({ over }) => over))
  await undo?.()
  await unprepare?.()
  const after = await Promise.all(participants.map(closedReceipts))
  await until(() => server.serving.turnsRunning === 0)
  const expected: Judged['expected'] = {}
  const found: Judged['found'] = {}
  for (const [at, who] of participants.entries()) {
    const receipts = (after[at] ?? []).slice(before[at]?.length)
    expected[who.label] = expectedOf(stageContext, who)
    const responses = (await responsesOf(stageContext, who.account.id)).slice(storedBefore[at]?.length)
    found[who.label] = await foundOf(stageContext, who, { receipts, responses, requesting: askings[at]! })
  }
  provider.heal()
  await sendAgain(stageContext, askings, { expected, found })
  await expectBalancedLedger(server)
  return { expected, found }
}

const prepare = async (stageContext: StageContext, { provider }: Stage) => {
  const { run } = preparationOf(stageContext.played.ending.before)
  provider.heal()
  const undo = await run?.(stageContext)
  provider.reset()
  return undo
}

export const sendAs = ({ server, column, played }: StageContext, who: Participant): RequestInput =>
  sendTurn({
    ...{ server, column, who, body: bodyOf(column, played, who.words), idempotencyKey: who.idempotencyKey },
    headers: played.ending.headers,
  })

export function hasCome({ received }: RequestInput, { played }: Pick<StageContext, 'played'>): boolean {
  const { until: awaited } = played.course
  if (awaited === undefined) return true
  if (awaited === 'head') return received.status !== 0
  return received.text.includes(awaited.text)
}

export const closedReceipts = ({ account }: Participant): Promise<ReceiptsTable[]> =>
  until(async () => {
    const rows = await account.receipts()
    return rows.every(({ state }) => state !== 'open') && rows
  })

/** With the same key again, one after another, now that nothing is in the way any more. */
export async function sendAgain(
  stageContext: StageContext,
  askings: readonly RequestInput[],
  { expected, found }: Judged,
): Promise<void> {
  for (const [at, who] of stageContext.participants.entries()) {
    if (who.idempotencyKey === undefined) continue
    const count = (await who.account.receipts()).length
    const again = sendAs(stageContext, who)
    await again.over
    const receipts = (await closedReceipts(who)).length - count
    const of = found[who.label]!
    const wanted = expected[who.label]!
    const { seen } = stageContext.column.understand(again.received)
    const code = 'code' in seen ? seen.code : undefined
    const replayed = again.headers.get('idempotency-replayed') === 'true'
    of.again = replayed ? 'given again' : code?.startsWith('idempotency_') ? code : 'runs'
    if (of.again !== 'runs' && receipts > 0) of.again += `, with ${receipts} receipts`
    wanted.again = AGAIN[wanted.claim]
    const first = askings[at]!
    if (replayed && first.received.ended && !sameAnswer(first, again)) of.again = 'given otherwise'
    const left = await foundOf(stageContext, who, { receipts: [], responses: [], requesting: first })
    of.faults.push(...left.faults)
  }
}

const AGAIN = {
  kept: 'given again',
  'not-kept': 'idempotency_not_replayable',
  another: 'idempotency_key_reused',
  free: 'runs',
} as const

const withoutComments = (text: string): string => text.replaceAll(': keep-alive\n\n', '')

const sameAnswer = (one: RequestInput, other: RequestInput): boolean =>
  withoutComments(one.received.text) === withoutComments(other.received.text)
