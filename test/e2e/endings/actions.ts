import { expect } from 'vitest'
import { parseUsd } from '../../../src/model/money.ts'
import { delivered } from '../../fakes/delivered.ts'
import { answerOf } from '../../support/send-chat.ts'
import { until } from '../../support/until.ts'
import { breakLedger, freezeAccounts, makeLedgerUnavailable } from './broken-ledger.ts'
import { MODEL_CAP, RUN_BUDGET } from './charges-page.ts'
import { bodyOf, type Participant, type RequestInput, sendTurn } from './participants.ts'
import type { StageContext, Undo } from './preparations.ts'
import { type Provider, WINDOW_MS } from './stage.ts'

/** Everybody has asked, and every provider waits. */
export interface Scene extends StageContext {
  readonly provider: Provider
  readonly askings: readonly RequestInput[]
}

type Act = (scene: Scene) => Promise<Undo | undefined>

/** Without an idempotency key the turn ends with its client, and its provider is cut. */
async function untilNoticed({ provider, participants }: Scene): Promise<void> {
  const bare = new Set(participants.flatMap(({ words, idempotencyKey }) => (idempotencyKey ? [] : [words])))
  const providerAnswers = provider.far.providerAnswers.filter(({ receivedRequest }) =>
    [...bare].some((words) => isAbout(receivedRequest, words)),
  )
  await Promise.all(providerAnswers.map(({ closed }) => closed))
  await delivered()
}

const isAbout = (receivedRequest: unknown, words: string): boolean => JSON.stringify(receivedRequest).includes(words)

const everybody = async (scene: Scene, work: (who: Participant) => Promise<unknown>): Promise<undefined> => {
  await Promise.all(scene.participants.map(work))
  return undefined
}

const idOf = ({ received }: RequestInput): string => /"id":"(resp_[^"]+)"/.exec(received.text)?.[1] ?? 'none'

const askOf = ({ server, participants }: Scene, at: number, path: string, method: string): Promise<Response> =>
  fetch(`${server.baseUrl}/responses/${path}`, {
    ...{ method, headers: { authorization: `Bearer ${participants[at]!.key.key}` } },
  })

const allOver = ({ askings }: Scene) => Promise.all(askings.map(({ over }) => over))

/** What is done while the providers wait. What is returned undoes it when everybody has heard the end. */
const ACTS = {
  async 'the client goes'(scene) {
    for (const requesting of scene.askings) requesting.hangUp()
    await untilNoticed(scene)
  },
  async 'the client goes and the turn stays'({ askings }) {
    for (const requesting of askings) requesting.hangUp()
    await delivered()
  },
  async 'the response is cancelled'(scene) {
    await Promise.all(
      scene.askings.map(async (requesting, at) => {
        const answer = await answerOf(await askOf(scene, at, `${idOf(requesting)}/cancel`, 'POST'))
        expect([answer.status, answer.json.status]).toEqual([200, 'cancelled'])
      }),
    )
    await Promise.all(scene.provider.far.providerAnswers.map(({ closed }) => closed))
    await allOver(scene)
  },
  async 'others follow it'(scene) {
    const following = scene.askings.map((requesting, at) =>
      askOf(scene, at, `${idOf(requesting)}?stream=true&starting_after=0`, 'GET'),
    )
    const answers = await Promise.all(following)
    return async () => {
      for (const [at, answer] of answers.entries()) {
        const { text } = scene.askings[at]!.received
        expect(await answer.text()).toBe(text.slice(text.indexOf('\n\n') + 2))
      }
    }
  },
  async 'another client attaches and the first one goes'(scene) {
    const { server, column, played, participants, askings } = scene
    const attached = participants.map((who) => {
      const body = bodyOf(column, played, who.words)
      const { idempotencyKey } = who
      return sendTurn({ server, column, who, body, idempotencyKey, headers: { 'x-millrace-attach': 'true' } })
    })
    // It gets what the first one has.
    await until(() => attached.every(({ received }, at) => received.text === askings[at]!.received.text))
    for (const requesting of askings) requesting.hangUp()
    await delivered()
    return async () => {
      for (const [at, { over, received, headers }] of attached.entries()) {
        await over
        const [receipt] = await participants[at]!.account.receipts()
        expect(column.understand(received)).toEqual({ seen: { kind: 'whole' }, charge: receipt?.charge_nano })
        expect(headers.get('idempotency-replayed')).toBe('true')
      }
    }
  },
  async 'the run has less left than the model may write'({ server, provider, participants }) {
    for (const { receivedRequest } of provider.far.providerAnswers) {
      const cap = Number(/"max\w*tokens":(\d+)/i.exec(JSON.stringify(receivedRequest))?.[1])
      expect([cap > 1000, cap < MODEL_CAP]).toEqual([true, true])
    }
    return async () => {
      for (const { key, account } of participants) {
        const run = await answerOf(
          await fetch(`${server.baseUrl}/runs/task`, { headers: { authorization: `Bearer ${key.key}` } }),
        )
        const [receipt] = await account.receipts()
        expect(parseUsd(run.json.used.cost)).toBe(receipt?.charge_nano)
        expect(receipt!.hold_nano).toBeLessThanOrEqual(parseUsd(RUN_BUDGET)!)
      }
    }
  },
  async 'the client goes at the end'({ askings }) {
    for (const requesting of askings) requesting.hangUp()
    await delivered()
  },
  async 'the server cuts'(scene) {
    scene.server.serving.abortTurns()
    await allOver(scene)
  },
  async 'no charge can be written'(scene) {
    const repair = await breakLedger(scene.server, 'UPDATE ON receipts')
    return async () => {
      // Everybody has heard the end, and the books do not know of it: it stands in the journal.
      await everybody(scene, async ({ account }) => {
        expect((await account.receipts()).map(({ state }) => state)).toEqual(['open'])
      })
      await repair()
    }
  },
  async 'the books are away'(scene) {
    const repair = await makeLedgerUnavailable(scene.server)
    await allOver(scene)
    return repair
  },
  async 'the key is disabled'(scene) {
    await everybody(scene, ({ key }) => scene.server.operate('keys.disable', { key: key.id }))
    return () => everybody(scene, ({ key }) => scene.server.operate('keys.enable', { key: key.id }))
  },
  async 'the account is suspended'(scene) {
    await everybody(scene, ({ account }) => scene.server.operate('accounts.suspend', { account: account.id }))
    return () => everybody(scene, ({ account }) => scene.server.operate('accounts.activate', { account: account.id }))
  },
  'the account is frozen': ({ server, participants }) =>
    freezeAccounts(
      server,
      participants.map(({ account }) => account.id),
    ),
  'the plan ends': (scene) =>
    everybody(scene, ({ account }) => scene.server.operate('plans.end', { account: account.id })),
  async 'the window ends'({ server }) {
    server.advance(WINDOW_MS + 1000)
  },
  'the same is asked again': (scene) =>
    everybody(scene, async (who) => {
      const { server, column, played } = scene
      const { idempotencyKey } = who
      const again = sendTurn({ server, column, who, body: bodyOf(column, played, who.words), idempotencyKey })
      await again.over
      expect(column.understand(again.received).seen).toEqual({ kind: 'refused', code: 'idempotency_in_progress' })
    }),
} as const satisfies Record<string, Act>

export type ActName = keyof typeof ACTS

export const perform = (name: ActName | undefined, scene: Scene): Promise<Undo | undefined> =>
  name === undefined ? Promise.resolve(undefined) : ACTS[name](scene)
