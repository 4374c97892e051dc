import type { TestServer } from '../../support/start-server.ts'
import { breakLedger, breakResponses, freezeAccounts } from './broken-ledger.ts'
import type { Column } from './columns.ts'
import { ask, bodyOf, type Means, type Participant } from './participants.ts'
import type { Played } from './stage.ts'

export interface Ground {
  readonly server: TestServer
  readonly column: Column
  readonly played: Played
  readonly participants: readonly Participant[]
}

/** How to make it undone; what is done for good returns nothing. */
export type Undo = () => Promise<unknown>

interface Preparation {
  readonly means?: Means
  readonly run?: (ground: Ground) => Promise<Undo | undefined>
}

const everybody = async (
  { participants }: Ground,
  work: (who: Participant) => Promise<unknown>,
): Promise<undefined> => {
  await Promise.all(participants.map(work))
  return undefined
}

/** Asks and waits for the end; with other words it is another body. */
const askBefore = (ground: Ground, { otherWords, keyed }: { otherWords: boolean; keyed: boolean }) =>
  everybody(ground, async (who) => {
    const { server, column, played } = ground
    const words = otherWords ? 'Something else, please.' : who.words
    const idempotencyKey = keyed ? who.idempotencyKey : undefined
    const asking = ask({ server, column, who, body: bodyOf(column, played, words), idempotencyKey })
    await asking.over
    if (asking.received.status !== 200) throw new Error(asking.received.text)
  })

/** What is done before anybody asks. */
const PREPARATIONS = {
  'no hold can be written': { run: ({ server }) => breakLedger(server, 'INSERT ON receipts') },
  'no response can be stored': { run: ({ server }) => breakResponses(server) },
  'no money, no plan': { means: { credit: '0', plan: 'none' } },
  'a limit of few tokens': { means: { key: { limits: { tokens_per_minute: 10 } } } },
  'a limit of one request': {
    means: { key: { limits: { requests_per_minute: 1 } } },
    run: (ground) => askBefore(ground, { otherWords: true, keyed: false }),
  },
  'the key is disabled': {
    run: (ground) => everybody(ground, (who) => ground.server.operate('keys.disable', { key: who.key.id })),
  },
  'the account is suspended': {
    run: (ground) => everybody(ground, (who) => ground.server.operate('accounts.suspend', { account: who.account.id })),
  },
  'the account is frozen': {
    run: ({ server, participants }) =>
      freezeAccounts(
        server,
        participants.map(({ account }) => account.id),
      ),
  },
  'the key stands for another body': { run: (ground) => askBefore(ground, { otherWords: true, keyed: true }) },
  'the same request has ended': { run: (ground) => askBefore(ground, { otherWords: false, keyed: true }) },
} as const satisfies Record<string, Preparation>

export type PreparationName = keyof typeof PREPARATIONS

export const preparationOf = (name: PreparationName | undefined): Preparation =>
  name === undefined ? {} : PREPARATIONS[name]
