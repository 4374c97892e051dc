import type { TestServer } from '../../support/start-server.ts'
import { breakLedger, breakResponses, freezeAccounts } from './broken-ledger.ts'
import type { Column } from './columns.ts'
import { bodyOf, type Participant, type SetupMoney, sendTurn } from './participants.ts'
import type { Played } from './stage.ts'

export interface StageContext {
  readonly server: TestServer
  readonly column: Column
  readonly played: Played
  readonly participants: readonly Participant[]
}

/** How to make it undone; what is done for good returns nothing. */
export type Undo = () => Promise<unknown>

interface Preparation {
  readonly setupOptions?: SetupMoney
  readonly run?: (stageContext: StageContext) => Promise<Undo | undefined>
}

const everybody = async (
  { participants }: StageContext,
  work: (who: Participant) => Promise<unknown>,
): Promise<undefined> => {
  await Promise.all(participants.map(work))
  return undefined
}

/** Asks and waits for the end; with other words it is another body. */
const sendBefore = (stageContext: StageContext, { otherWords, keyed }: { otherWords: boolean; keyed: boolean }) =>
  everybody(stageContext, async (who) => {
    const { server, column, played } = stageContext
    const words = otherWords ? 'Something else, please.' : who.words
    const idempotencyKey = keyed ? who.idempotencyKey : undefined
    const requesting = sendTurn({ server, column, who, body: bodyOf(column, played, words), idempotencyKey })
    await requesting.over
    if (requesting.received.status !== 200) throw new Error(requesting.received.text)
  })

/** What is done before anybody asks. */
const PREPARATIONS = {
  'no hold can be written': { run: ({ server }) => breakLedger(server, 'INSERT ON receipts') },
  'no response can be stored': { run: ({ server }) => breakResponses(server) },
  'no money, no plan': { setupOptions: { credit: '0', plan: 'none' } },
  'a limit of few tokens': { setupOptions: { key: { limits: { tokens_per_minute: 10 } } } },
  'a limit of one request': {
    setupOptions: { key: { limits: { requests_per_minute: 1 } } },
    run: (stageContext) => sendBefore(stageContext, { otherWords: true, keyed: false }),
  },
  'the key is disabled': {
    run: (stageContext) =>
      everybody(stageContext, (who) => stageContext.server.operate('keys.disable', { key: who.key.id })),
  },
  'the account is suspended': {
    run: (stageContext) =>
      everybody(stageContext, (who) => stageContext.server.operate('accounts.suspend', { account: who.account.id })),
  },
  'the account is frozen': {
    run: ({ server, participants }) =>
      freezeAccounts(
        server,
        participants.map(({ account }) => account.id),
      ),
  },
  'the key stands for another body': {
    run: (stageContext) => sendBefore(stageContext, { otherWords: true, keyed: true }),
  },
  'the same request has ended': { run: (stageContext) => sendBefore(stageContext, { otherWords: false, keyed: true }) },
} as const satisfies Record<string, Preparation>

export type PreparationName = keyof typeof PREPARATIONS

export const preparationOf = (name: PreparationName | undefined): Preparation =>
  name === undefined ? {} : PREPARATIONS[name]
