import type { SubscriptionView } from '../../src/admin/plans.ts'
import { chat, hello } from './send-chat.ts'
import type { TestServer } from './start-server.ts'
import { openAccount, type TestAccount } from './test-account.ts'

/** An account owner with a plan and a key that draws on it, and beside it a wallet with a key of its own. */
export interface Subscriber extends TestAccount {
  /** A builder key; `key` is the wallet key. */
  readonly builder: { readonly id: string; readonly key: string }
  assign(plan: string, until?: string): Promise<SubscriptionView>
  end(at?: string): Promise<SubscriptionView>
  plan(): Promise<SubscriptionView>
  window(name: string): Promise<SubscriptionView['windows'][number]>
}

export async function openSubscriber(
  server: TestServer,
  plan?: string,
  options: { credit?: string } = {},
): Promise<Subscriber> {
  const account = await openAccount(server, options)
  const builder = await account.createKey({ kind: 'builder' })
  const show = () => server.operate('plans.show', { account: account.id })
  const assign = (name: string, until?: string) =>
    server.operate('plans.assign', { account: account.id, plan: name, ...(until !== undefined && { until }) })
  if (plan !== undefined) await assign(plan)
  return {
    ...account,
    builder,
    assign,
    end: (at) => server.operate('plans.end', { account: account.email, ...(at !== undefined && { at }) }),
    plan: show,
    async window(name) {
      const found = (await show()).windows.find((window) => window.name === name)
      if (!found) throw new Error(`there is no window ${name}`)
      return found
    },
  }
}

/** Costs exactly so many thousandths of a dollar, and holds no more than that. */
export const spend = (server: TestServer, who: { readonly key: string }, tokens: number) =>
  chat(server, who, { model: 'paid', max_tokens: tokens, messages: hello('count to 5000') })

const DAY_MS = 86_400_000

/** Tuesday noon of UTC, at some time to come: a test that counts in days and weeks must not begin just before one turns. */
export function advanceToTuesdayNoon(server: TestServer): void {
  const now = server.app.operations.clock.now()
  // Day 0 was a Thursday.
  const sinceTuesdayNoon = (now - 5.5 * DAY_MS) % (7 * DAY_MS)
  server.advance(7 * DAY_MS - sinceTuesdayNoon)
}
