import type { z } from 'zod'
import {
  ACCOUNT_EVENTS,
  type addWebhookBody,
  type changeWebhookBody,
  type deliveryItem,
  type mailTestBody,
  type NoticeEvent,
  OPERATOR_EVENTS,
  type webhookItem,
} from '../contract/notices.ts'
import type { PageQuery } from '../contract/values.ts'
import { listAccountIds } from '../db/accounts.ts'
import {
  deliveryRepeat,
  findDelivery,
  findWebhook,
  listDeliveries,
  listWebhooks as listStored,
  type StoredDelivery,
  type StoredWebhook,
  webhookChange,
  webhookDelete,
  webhookDelivery,
  webhookInsert,
  webhookRotation,
} from '../db/notices.ts'
import { mintDeliveryId, mintWebhookId } from '../model/ids.ts'
import { TEST_MAIL } from '../notices/texts.ts'
import { refusalOfWebhookUrl } from '../providers/post-webhook.ts'
import { type AnyAccount, resolveAccount, resolveOpenAccount } from './accounts.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { isoTime, isoTimeOrNull, NEWEST, quoted, readPage } from './values.ts'

type WebhookServices = Pick<AdminServices, 'db' | 'clock' | 'random' | 'auditLog' | 'notices'>

/** Whose webhooks: of an account, of operators (null), or of all, which only operators may ask for. */
export type WebhookOwner = { readonly account: number | null } | 'all'

interface OneWebhook {
  readonly webhook: string
}

const WEBHOOKS_MAX = 10
const SECRET_BYTES = 32
/** After a rotation the receiver has this long to take the new secret. */
const FORMER_MS = 86_400_000

type WebhookView = z.output<typeof webhookItem>

async function viewOf({ db, clock }: Pick<WebhookServices, 'db' | 'clock'>, hook: StoredWebhook): Promise<WebhookView> {
  const [account] = hook.account === null ? [] : await listAccountIds(db, [hook.account])
  const { id, url, state, failing_since, former_until, created_at, created_by } = hook
  return {
    ...{ id, account: account?.id ?? null, url, events: hook.events.split(' ') as NoticeEvent[], state },
    failing_since: isoTimeOrNull(failing_since),
    former_secret_until: isoTimeOrNull(former_until !== null && former_until > clock.now() ? former_until : null),
    ...{ created_at: isoTime(created_at), created_by },
  }
}

export async function listWebhooks(services: Pick<WebhookServices, 'db' | 'clock'>, account: number | null) {
  const hooks = await listStored(services.db, account)
  return done({ items: await Promise.all(hooks.map((hook) => viewOf(services, hook))) })
}

/** Of an account by its id or email; without one, of operators. */
export const resolveOwner = async (
  services: Pick<AdminServices, 'db'>,
  { account }: AnyAccount,
  state: 'any' | 'open' = 'any',
): Promise<Outcome<number | null>> => {
  if (account === undefined) return done(null)
  const resolved = await (state === 'open' ? resolveOpenAccount : resolveAccount)(services, account)
  return resolved.kind === 'refused' ? resolved : done(resolved.value.row)
}

/** As receivers of Standard Webhooks take it. */
const shownSecret = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString('base64')}`

/** The secret is returned once. */
export async function addWebhook(
  services: WebhookServices,
  account: number | null,
  { url: written, events }: z.output<typeof addWebhookBody>,
  actor: string,
) {
  const { db, clock, random, auditLog, notices } = services
  const refusal = refusalOfWebhookUrl(written, { allowPrivate: notices.allowPrivateWebhooks })
  if (refusal !== undefined) {
    const message = `${quoted(written)} ${refusal}. Write an https:// address that this server can reach.`
    return refuseOperation('invalid_webhook', message, { param: 'url' })
  }
  const known: readonly string[] = account === null ? OPERATOR_EVENTS : ACCOUNT_EVENTS
  const foreign = events.find((event) => !known.includes(event))
  if (foreign !== undefined) {
    const message = `${foreign} is not told here. Events: ${known.join(', ')}`
    return refuseOperation('invalid_webhook', message, { param: 'events' })
  }
  const url = new URL(written).href
  const id = mintWebhookId(random)
  const secret = random(SECRET_BYTES)
  const { ring_key, sealed } = notices.secrets.seal(id, secret)
  const isAdded = await auditLog.act(
    { action: 'webhook_added', target: id, account, detail: `${new URL(url).host}: ${events.join(' ')}` },
    [
      webhookInsert(
        {
          ...{ id, account, url, events: [...new Set(events)].join(' '), ring_key, secret: sealed },
          ...{ created_at: clock.now(), created_by: actor },
        },
        WEBHOOKS_MAX,
      ),
    ],
  )
  if (!isAdded)
    return refuseOperation('too_many_webhooks', `There are ${WEBHOOKS_MAX} webhooks, which is the most. Remove one.`)
  return done({ webhook: await viewOf(services, (await findWebhook(db, id))!), secret: shownSecret(secret) })
}

async function findOwned(
  { db }: Pick<WebhookServices, 'db'>,
  owner: WebhookOwner,
  id: string,
): Promise<Outcome<StoredWebhook>> {
  const hook = await findWebhook(db, id.trim())
  return hook !== undefined && (owner === 'all' || hook.account === owner.account)
    ? done(hook)
    : refuseOperation('webhook_not_found', `There is no webhook ${quoted(id)}.`)
}

/** After it was removed at the same time. */
const gone = (id: string) => refuseOperation('webhook_not_found', `There is no webhook ${quoted(id)}.`)

export async function changeWebhook(
  services: WebhookServices,
  owner: WebhookOwner,
  { webhook: id, events, enabled }: OneWebhook & z.output<typeof changeWebhookBody>,
): Promise<Outcome<WebhookView>> {
  const found = await findOwned(services, owner, id)
  if (found.kind === 'refused') return found
  const { value: hook } = found
  const known: readonly string[] = hook.account === null ? OPERATOR_EVENTS : ACCOUNT_EVENTS
  const foreign = events?.find((event) => !known.includes(event))
  if (foreign !== undefined)
    return refuseOperation('invalid_webhook', `${foreign} is not told here. Events: ${known.join(', ')}`, {
      param: 'events',
    })
  const next = events === undefined ? hook.events : [...new Set(events)].join(' ')
  const state = enabled === undefined ? hook.state : enabled ? 'on' : 'off'
  const detail = `${next}; ${state}`
  const isChanged = await services.auditLog.act(
    { action: 'webhook_changed', target: hook.id, account: hook.account, detail },
    [webhookChange(hook, next, state)],
  )
  const current = isChanged ? await findWebhook(services.db, hook.id) : undefined
  return current === undefined ? gone(id) : done(await viewOf(services, current))
}

/** A new secret. For a day, messages are signed with the one before as well. */
export async function rotateWebhook(services: WebhookServices, owner: WebhookOwner, { webhook: id }: OneWebhook) {
  const { clock, random, auditLog, notices } = services
  const found = await findOwned(services, owner, id)
  if (found.kind === 'refused') return found
  const { value: hook } = found
  const secret = random(SECRET_BYTES)
  const { ring_key, sealed } = notices.secrets.seal(hook.id, secret)
  const isRotated = await auditLog.act(
    { action: 'webhook_rotated', target: hook.id, account: hook.account, detail: new URL(hook.url).host },
    [webhookRotation(hook, { ring_key, secret: sealed }, clock.now() + FORMER_MS)],
  )
  const current = isRotated ? await findWebhook(services.db, hook.id) : undefined
  if (current === undefined)
    return refuseOperation('webhook_changed', 'The webhook was changed at the same time. Try again.')
  return done({ webhook: await viewOf(services, current), secret: shownSecret(secret) })
}

/** With its deliveries. */
export async function removeWebhook(services: WebhookServices, owner: WebhookOwner, { webhook: id }: OneWebhook) {
  const found = await findOwned(services, owner, id)
  if (found.kind === 'refused') return found
  const { value: hook } = found
  await services.auditLog.act(
    { action: 'webhook_removed', target: hook.id, account: hook.account, detail: new URL(hook.url).host },
    webhookDelete(hook),
  )
  return done({ id: hook.id })
}

/** Sends a message of the type `test`, also to one that is switched off. */
export async function testWebhook(services: WebhookServices, owner: WebhookOwner, { webhook: id }: OneWebhook) {
  const { db, clock, random, auditLog, notices } = services
  const found = await findOwned(services, owner, id)
  if (found.kind === 'refused') return found
  const { value: hook } = found
  const delivery = { id: mintDeliveryId(random), event: 'test', notice: null, at: clock.now() } as const
  await auditLog.act({ action: 'webhook_tested', target: hook.id, account: hook.account, detail: delivery.id }, [
    webhookDelivery(delivery, hook.row),
  ])
  notices.onQueued()
  const stored = await findDelivery(db, delivery.id)
  return stored === undefined ? gone(id) : done(deliveryView(stored))
}

const deliveryView = (delivery: StoredDelivery): z.output<typeof deliveryItem> => {
  const { id, event, state, attempts, status, error, created_at, next_at, ended_at } = delivery
  return {
    ...{ id, event: event as z.output<typeof deliveryItem>['event'], state, attempts, status, error },
    ...{ created_at: isoTime(created_at), next_at: state === 'waiting' ? isoTime(next_at) : null },
    ended_at: isoTimeOrNull(ended_at),
  }
}

/** Newest first, for two months. */
export async function listWebhookDeliveries(
  services: Pick<WebhookServices, 'db'>,
  owner: WebhookOwner,
  { webhook: id, ...page }: OneWebhook & PageQuery,
) {
  const found = await findOwned(services, owner, id)
  if (found.kind === 'refused') return found
  return readPage(page, {
    first: NEWEST,
    read: (before, limit) => listDeliveries(services.db, found.value.row, { before, limit }),
    numberOf: ({ row }) => row,
    view: deliveryView,
  })
}

/** Sends the same message again, with the same id. */
export async function resendDelivery(
  services: WebhookServices,
  owner: WebhookOwner,
  { webhook: id, delivery: named }: OneWebhook & { readonly delivery: string },
) {
  const { db, clock, auditLog, notices } = services
  const found = await findOwned(services, owner, id)
  if (found.kind === 'refused') return found
  const { value: hook } = found
  const delivery = await findDelivery(db, named)
  if (delivery === undefined || delivery.webhook !== hook.row)
    return refuseOperation('delivery_not_found', `There is no delivery ${quoted(named)} of this webhook.`)
  await auditLog.act({ action: 'webhook_resent', target: hook.id, account: hook.account, detail: delivery.id }, [
    deliveryRepeat(delivery, clock.now()),
  ])
  notices.onQueued()
  return done(deliveryView((await findDelivery(db, named)) ?? delivery))
}

/** Sends a mail at once, and says what the mail server has answered. */
export async function testMail(
  { notices, random }: Pick<AdminServices, 'notices' | 'random'>,
  { to }: z.output<typeof mailTestBody>,
) {
  const { mailer } = notices
  if (mailer === undefined)
    return refuseOperation('mail_not_configured', 'No mail server is configured: see mail in docs/operate/notices.md.')
  const sent = await mailer({ id: mintDeliveryId(random), to, text: TEST_MAIL })
  return sent.kind === 'sent'
    ? done({ to, answer: sent.answer })
    : refuseOperation('mail_failed', `The mail to ${quoted(to)} was not sent: ${sent.error}`)
}
