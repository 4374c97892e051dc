import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackMarks } from '../../../src/ledger/marks.ts'
import { WORDS } from '../../fakes/chat-frames.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { COLUMNS, type Column } from './columns.ts'
import type { Death, Moment } from './deaths.ts'
import type { DyingProgram, Place, RunningProgram } from './dying-program.ts'
import { bodyOf, callersOf, openParticipant, type RequestInput, sendTurn } from './participants.ts'
import type { StageContext } from './preparations.ts'
import { closedReceipts, hasCome, sendAgain } from './run-ending.ts'
import { configOf, type Played, type Provider, playedIn, startProvider } from './stage.ts'
import { countResponses, responsesOf } from './stored-responses.ts'
import { expectedOf, foundOf, type Judged } from './verdict.ts'

/** One column of a death: who has asked in it, and what has come of their answers. */
interface Seat {
  readonly stageContext: StageContext
  readonly askings: readonly RequestInput[]
}

const PLACES: Readonly<Record<Moment, Place>> = {
  'no hold is recorded': 'hold',
  'every provider waits': 'nowhere',
  'every provider waits, marked': 'nowhere',
  'no charge is recorded': 'charge',
  'every charge is recorded': 'end',
}

/** In every column, for all callers at once: they die together. Then the books are opened again, by the true program. */
export async function playDeath(program: DyingProgram, death: Death): Promise<Map<Column, Judged>> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-death-'))
  const columns = COLUMNS.map((column, at) => ({ column, played: ownModel(playedIn(column, [death])[0]!, at) }))
  const provider = await startProvider(columns.map(({ played }) => played))
  const more = 'drain: { timeout: 0s }'
  const config = await configOf(
    columns.map(({ played }) => played),
    provider,
    more,
  )
  const current: { server: TestServer } = { server: await startServer({ folder, config }) }
  try {
    const seats = await Promise.all(columns.map((each) => takeSeats(standIn(current), each.column, each.played)))
    await current.server.close()
    const running = await program.start(folder, death.unmarked ? 'no-marks' : PLACES[death.moment])
    const requesting = seats.map((stageContext) => ({ stageContext, askings: sendAll(running, stageContext) }))
    await untilMoment(death, { running, provider, folder, seats: requesting })
    await running.end(death.signal)
    await Promise.all(requesting.flatMap(({ askings }) => askings.map(({ over }) => over)))
    current.server = await startServer({ folder, config })
    provider.heal()
    const judged = new Map<Column, Judged>()
    for (const seat of requesting) judged.set(seat.stageContext.column, await judge(seat))
    await expectBalancedLedger(current.server)
    return judged
  } finally {
    await current.server.close()
    await provider.far.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const ownModel = (played: Played, column: number): Played => ({ ...played, model: `death${column}` })

/** Accounts live longer than the server that they were opened on. */
const standIn = (current: { readonly server: TestServer }): TestServer =>
  new Proxy({} as TestServer, { get: (_, name) => Reflect.get(current.server, name) })

async function takeSeats(server: TestServer, column: Column, played: Played): Promise<StageContext> {
  const participants = await Promise.all(callersOf(played.ending).map((caller) => openParticipant(server, caller)))
  return { server, column, played, participants }
}

const sendAll = (
  server: Pick<TestServer, 'baseUrl'>,
  { column, played, participants }: StageContext,
): readonly RequestInput[] =>
  participants.map((who) =>
    sendTurn({ server, column, who, body: bodyOf(column, played, who.words), idempotencyKey: who.idempotencyKey }),
  )

interface Scene {
  readonly running: RunningProgram
  readonly folder: string
  readonly provider: Provider
  readonly seats: readonly Seat[]
}

async function untilMoment({ moment }: Death, { running, provider, seats, folder }: Scene): Promise<void> {
  const all = seats.flatMap(({ stageContext }) => stageContext.participants)
  const bare = all.filter(({ idempotencyKey }) => idempotencyKey === undefined)
  const streams = seats.filter(({ stageContext }) => stageContext.column.delivery === 'stream')
  const countNotes = (place: Place) => running.notes().filter((note) => note.place === place).length
  const recorded = () => running.notes().reduce((sum, { opened = 0 }) => sum + opened, 0)
  const telling = streams.filter(({ stageContext }) => stageContext.column.variant === 'stream')
  const allMarked = (words: number) => () => streamsMarked(running, words) === telling.length * 4
  // The content file and the ledger do not wait for each other before there is something to send.
  const stored = streams.filter(({ stageContext }) => stageContext.column.stores).length * 4
  const allStored = () => until(() => countResponses(folder) === stored)
  const allParsed = () =>
    until(() =>
      seats.every(({ stageContext, askings }) => askings.every((requesting) => hasCome(requesting, stageContext))),
    )
  switch (moment) {
    case 'no hold is recorded':
      await until(() => countNotes('hold') > 0 && provider.far.providerAnswers.length >= bare.length)
      await allStored()
      return
    case 'every provider waits':
    case 'every provider waits, marked':
      await until(() => provider.waiting === all.length && recorded() === all.length)
      await allStored()
      await allParsed()
      if (moment === 'every provider waits, marked') await until(allMarked(2))
      return
    case 'no charge is recorded':
      await until(() => countNotes('charge') === all.length)
      await allParsed()
      await until(allMarked(4))
      return
    case 'every charge is recorded':
      await until(() => countNotes('end') === all.length)
  }
}

/** Receipts of which so much is marked in the newest record. */
function streamsMarked(running: RunningProgram, words: number): number {
  const packed = running.notes().findLast(({ marks }) => marks !== undefined)?.marks
  if (packed === undefined) return 0
  const tokens = Math.ceil(Buffer.byteLength(WORDS.slice(0, words).join('')) / 4)
  return [...unpackMarks(Buffer.from(packed, 'base64')).values()].filter((marked) => marked === tokens).length
}

async function judge({ stageContext, askings }: Seat): Promise<Judged> {
  const judged: Judged = { expected: {}, found: {} }
  for (const [at, who] of stageContext.participants.entries()) {
    judged.expected[who.label] = expectedOf(stageContext, who)
    const receipts = await closedReceipts(who)
    const responses = await responsesOf(stageContext, who.account.id)
    judged.found[who.label] = await foundOf(stageContext, who, { receipts, responses, requesting: askings[at]! })
  }
  await sendAgain(stageContext, askings, judged)
  return judged
}
