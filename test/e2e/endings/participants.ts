import type { CreatedKey } from '../../../src/admin/keys.ts'
import type { KeyKind } from '../../../src/model/caller.ts'
import type { TestServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import type { Column, Received } from './columns.ts'
import type { Played } from './stage.ts'

/** Who asks: one for each kind of key, with and without an idempotency key, each with an account of its own. */
export interface Participant {
  readonly label: string
  readonly kind: KeyKind
  readonly idempotencyKey: string | undefined
  readonly account: TestAccount
  readonly key: CreatedKey
  /** What it asks. No other participant uses these words, so that the provider's requests can be told apart. */
  readonly words: string
}

type KeyChange = Parameters<TestAccount['createKey']>[0]

export interface SetupMoney {
  readonly credit?: string
  readonly plan?: 'matrix' | 'none'
  readonly key?: KeyChange
}

const KINDS = ['wallet', 'builder'] as const
let opened = 0

export interface Caller {
  readonly kind: KeyKind
  readonly keyed: boolean
}

export const callersOf = ({ keyedOnly }: Played['ending']): readonly Caller[] =>
  KINDS.flatMap((kind) => (keyedOnly ? [true] : [false, true]).map((keyed) => ({ kind, keyed })))

export const labelOf = ({ kind, keyed }: Caller): string => `${kind}${keyed ? ', with an Idempotency-Key' : ''}`

export async function openParticipant(
  server: TestServer,
  caller: Caller,
  setupOptions: SetupMoney = {},
): Promise<Participant> {
  opened += 1
  const { credit = '1.00', plan = 'matrix', key } = setupOptions
  const account = await openAccount(server, { credit })
  if (plan !== 'none') await server.operate('plans.assign', { account: account.id, plan })
  return {
    label: labelOf(caller),
    kind: caller.kind,
    idempotencyKey: caller.keyed ? `matrix-${opened}` : undefined,
    account,
    key: await account.createKey({ kind: caller.kind, ...key }),
    words: `Say good morning to number ${opened}, who is a ${labelOf(caller)}.`,
  }
}

/** A request on its way, and what has come of its answer so far. */
export interface RequestInput {
  readonly received: Received
  readonly headers: Headers
  readonly disconnected: boolean
  /** Resolves when nothing more will come. */
  readonly over: Promise<void>
  hangUp(): void
}

export const bodyOf = (column: Column, { model, ending }: Played, words: string): string =>
  JSON.stringify({ ...column.bodyOf(model, words), ...ending.sends })

export interface Question {
  readonly server: Pick<TestServer, 'baseUrl'>
  readonly column: Column
  readonly who: Participant
  readonly body: string
  /** Another one than its own, or none. */
  readonly idempotencyKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export function sendTurn({ server, column, who, body, idempotencyKey, headers }: Question): RequestInput {
  const controller = new AbortController()
  const received = { status: 0, text: '', ended: false }
  const requesting = { received, headers: new Headers(), disconnected: false }
  const read = async () => {
    const response = await fetch(`${server.baseUrl}${column.path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${who.key.key}`,
        'content-type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        ...headers,
      },
      body,
      signal: controller.signal,
    })
    received.status = response.status
    requesting.headers = response.headers
    const decoder = new TextDecoder()
    for await (const bytes of response.body ?? []) received.text += decoder.decode(bytes, { stream: true })
    received.ended = true
  }
  // How far it came is what the test looks at; that it broke is seen from there.
  const over = read().catch(() => {})
  return Object.assign(requesting, {
    over,
    hangUp() {
      requesting.disconnected = true
      controller.abort()
    },
  })
}
