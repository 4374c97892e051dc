import type { Language, NoticeFacts } from '../contract/notices.ts'
import {
  claimDelivery,
  countInvitationMails,
  type DeliveryOwner,
  type DueDelivery,
  deliveryAttempted,
  findDelivery,
  findNoticeByRow,
  findPreferences,
  findWebhookByRow,
  invitationMailRoom,
  listDueDeliveries,
  mailDelivery,
  ownerOfDelivery,
  releaseDeliveries,
  type StoredDelivery,
  type StoredWebhook,
  webhookArrived,
  webhookFailed,
  webhookOff,
} from '../db/notices.ts'
import { findPersonByEmail } from '../db/people.ts'
import { type AtomicStatement, UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RingSeals } from '../lib/crypto.ts'
import { type RandomBytes, uniform } from '../lib/random-id.ts'
import { mintDeliveryId } from '../model/ids.ts'
import type { PostWebhook, Sent } from '../providers/post-webhook.ts'
import { isMailAddress, type Mailer } from './send-mail.ts'
import { HOUR_MS, type TellServices, tell } from './tell.ts'
import { type MailText, mailOfInvitation, mailOfNotice } from './texts.ts'

/** How long until the next attempt, by the attempts made: a day and a half in all. */
const DELAYS_MS = [
  ...[5_000, 30_000, 120_000, 600_000, 1_800_000],
  ...[3_600_000, 7_200_000, 14_400_000, 28_800_000, 43_200_000],
] as const
/** So that a receiver that comes back does not get all of them at once. */
const JITTER = 0.2
/** Longer than any attempt takes: then another node, or this one after a crash, makes the next. */
const CLAIM_MS = 60_000
const AT_ONCE = 24
const AT_ONCE_OF_OWNER = 4
/** So that a mail server that answers late leaves room for webhooks. */
const MAILS_AT_ONCE = 12
/** A webhook that fails for so long is switched off. */
const WEBHOOK_FAILS_MS = 3 * 86_400_000

export interface DeliveryServices extends TellServices {
  readonly secrets: RingSeals
  /** Undefined without a mail server. */
  readonly mailer: () => Mailer | undefined
  readonly post: PostWebhook
  readonly consoleUrl: () => string
  readonly onFailure: (error: unknown) => void
}

/** What only the recipient of an invitation may read, as it lies sealed in the outbox. */
interface SealedInvitation {
  readonly link: string
  readonly expiresAt: string
  readonly resets: boolean
}

/**
 * Sends what is due. Each account has bounds of its own for webhooks and for mails, and so do operators, and mail has one in all: a
 * receiver that answers late, a mail server that does, or an account with many mails, makes no other one wait.
 */
export function createDelivery(services: DeliveryServices) {
  const { db, clock, onFailure, onQueued } = services
  /** The attempts that run now, with whose they are. */
  const running = new Map<Promise<unknown>, DeliveryOwner>()
  const countRunning = (is: (owner: DeliveryOwner) => boolean): number => [...running.values()].filter(is).length
  const isMailFull = (): boolean => countRunning(({ by }) => by === 'mail') >= MAILS_AT_ONCE
  const isFull = ({ by, account }: DeliveryOwner): boolean =>
    countRunning((each) => each.by === by && each.account === account) >= AT_ONCE_OF_OWNER ||
    (by === 'mail' && isMailFull())
  const begin = (delivery: DueDelivery, claimedUntil: number): void => {
    const attempt = deliver(services, delivery, claimedUntil)
      .catch(onFailure)
      .finally(() => {
        running.delete(attempt)
        onQueued()
      })
    running.set(attempt, ownerOfDelivery(delivery))
  }
  return {
    /** Begins what there is room for. The end of each attempt calls `onQueued`, which is to call this again. */
    async beginDue(): Promise<void> {
      for (let isMore = true; isMore && running.size < AT_ONCE; ) {
        const full = [...running.values()].filter(isFull)
        const due = await listDueDeliveries(db, clock.now(), { limit: AT_ONCE, full, isMailFull: isMailFull() })
        isMore = false
        for (const delivery of due) {
          if (running.size >= AT_ONCE || isFull(ownerOfDelivery(delivery))) continue
          const claimedUntil = clock.now() + CLAIM_MS
          if (!(await claimDelivery(services.file, delivery, claimedUntil))) continue
          begin(delivery, claimedUntil)
          isMore = true
        }
      }
    },
    /** Resolves when no attempt runs. */
    idle: async (): Promise<void> => void (await Promise.all(running.keys())),
  }
}

/** For the start of the only process that sends: what the one before had begun is due at once. */
export const resumeDeliveries = ({ file, clock }: Pick<DeliveryServices, 'file' | 'clock'>) =>
  releaseDeliveries(file, clock.now())

async function deliver(services: DeliveryServices, delivery: DueDelivery, claimedUntil: number): Promise<void> {
  const { file, clock } = services
  const attempts = delivery.attempts + 1
  const hook = delivery.webhook === null ? undefined : await findWebhookByRow(services.db, delivery.webhook)
  const sent = hook === undefined ? await sendMail(services, delivery) : await sendToWebhook(services, delivery, hook)
  const now = clock.now()
  const delay = sent.kind === 'failed' ? DELAYS_MS[attempts - 1] : undefined
  await file.atomic([
    deliveryAttempted(delivery, claimedUntil, {
      state: sent.kind === 'sent' ? 'sent' : delay === undefined ? 'failed' : 'waiting',
      status: sent.status,
      error: sent.kind === 'sent' ? null : sent.error,
      nextAt: now + Math.round((delay ?? 0) * (1 + JITTER * (2 * uniform(services.random) - 1))),
      now,
    }),
    ...(hook === undefined ? [] : [sent.kind === 'sent' ? webhookArrived(hook.row) : webhookFailed(hook.row, now)]),
  ])
  if (hook !== undefined && sent.kind !== 'sent') await switchOff(services, hook, now)
}

/** Nothing was delivered to it for three days. */
async function switchOff(services: DeliveryServices, hook: StoredWebhook, now: number): Promise<void> {
  const { failing_since: since, row, id, account, url, state } = hook
  if (state !== 'on' || since === null || now - since < WEBHOOK_FAILS_MS) return
  try {
    await services.file.atomic([webhookOff(row, since)])
  } catch (error) {
    // It has worked, or another node has switched it off.
    if (error instanceof UnexpectedChanges) return
    throw error
  }
  await tell(services, {
    ...{ once: `webhook:${id}:${since}`, event: 'webhook.off', account, person: null },
    facts: { webhook: id, host: new URL(url).host, failing_since: new Date(since).toISOString() },
  })
}

async function sendToWebhook(
  { db, clock, secrets, post }: DeliveryServices,
  { id, event, notice: row, created_at }: StoredDelivery,
  hook: StoredWebhook,
): Promise<Sent> {
  if (hook.state !== 'on' && event !== 'test')
    return { kind: 'refused', status: null, error: 'the webhook is switched off' }
  const now = clock.now()
  const secret = secrets.open(hook.id, { ring_key: hook.ring_key, sealed: hook.secret })
  const isFormerValid = hook.former_until !== null && hook.former_until > now
  const formerSealed = { ring_key: hook.former_ring_key!, sealed: hook.former_secret! }
  const former = isFormerValid ? secrets.open(hook.id, formerSealed) : undefined
  if (secret === undefined)
    return {
      kind: 'failed',
      status: null,
      error: 'its secret cannot be read: the key ring lacks the key that sealed it',
    }
  const notice = row === null ? undefined : await findNoticeByRow(db, row)
  const facts = notice === undefined ? {} : (JSON.parse(notice.facts) as NoticeFacts)
  const body = JSON.stringify({
    type: event,
    timestamp: new Date(notice?.at ?? created_at).toISOString(),
    data: { ...(notice === undefined ? {} : { notice: notice.id, account: notice.account_id }), ...facts },
  })
  return post({
    ...{ id, url: hook.url, body, timestamp: Math.floor(now / 1000) },
    secrets: former === undefined ? [secret] : [secret, former],
  })
}

async function sendMail(services: DeliveryServices, delivery: StoredDelivery): Promise<Sent> {
  const mailer = services.mailer()
  if (mailer === undefined) return { kind: 'refused', status: null, error: 'this server no longer sends mail' }
  const text = await textOf(services, delivery, delivery.language ?? 'en')
  if (text === undefined) return { kind: 'refused', status: null, error: 'its text cannot be read' }
  return mailer({ id: delivery.id, to: delivery.recipient!, text })
}

async function textOf(
  { db, secrets, consoleUrl }: DeliveryServices,
  { id, notice: row, ring_key, sealed }: StoredDelivery,
  language: Language,
): Promise<MailText | undefined> {
  if (row === null) {
    const opened = ring_key === null || sealed === null ? undefined : secrets.open(id, { ring_key, sealed })
    return opened && mailOfInvitation(JSON.parse(Buffer.from(opened).toString('utf8')) as SealedInvitation, language)
  }
  const notice = await findNoticeByRow(db, row)
  return (
    notice &&
    mailOfNotice(notice.event, JSON.parse(notice.facts) as NoticeFacts, { language, consoleUrl: consoleUrl() })
  )
}

/** Invitations that one address gets in an hour at most. Further links are only shown to the person who invites. */
const INVITATIONS_PER_HOUR = 5

/** Invitations by the people of one account, so that its admins do not send mail to everyone in the name of the server. */
const INVITATIONS_OF_ACCOUNT_PER_HOUR = 100

export type InvitationMail = ReturnType<typeof createInvitationMail>

interface InvitationMailServices {
  readonly db: LedgerDb
  readonly clock: Pick<Clock, 'now'>
  readonly random: RandomBytes
  readonly secrets: RingSeals
  readonly sendsMail: () => boolean
  readonly onQueued: () => void
}

interface Addressed {
  readonly to: string
  readonly account: number | null
  readonly language: Language
}

/** A mail that is sent once the invitation is recorded. */
export interface QueuedMail {
  readonly id: string
  readonly statements: readonly AtomicStatement[]
}

/** Puts invitations into the outbox, where their links are sealed until they are sent. */
export function createInvitationMail({ db, clock, random, secrets, sendsMail, onQueued }: InvitationMailServices) {
  return {
    /** Undefined where no mail can be sent. */
    draft({ to, account, language }: Addressed, invitation: SealedInvitation): QueuedMail | undefined {
      if (!sendsMail() || !isMailAddress(to)) return undefined
      const id = mintDeliveryId(random)
      const at = clock.now()
      const sealed = secrets.seal(id, Buffer.from(JSON.stringify(invitation)))
      const bounds = { since: at - HOUR_MS, most: INVITATIONS_PER_HOUR }
      const delivery = { id, event: 'invitation', notice: null, at } as const
      return { id, statements: [mailDelivery(delivery, { email: to, account, language }, bounds, sealed)] }
    },
    /** For an invitation by a person of an account: fails if the account has sent too many. */
    room: (account: number): AtomicStatement =>
      invitationMailRoom(account, { since: clock.now() - HOUR_MS, most: INVITATIONS_OF_ACCOUNT_PER_HOUR }),
    hasRoom: async (account: number): Promise<boolean> =>
      (await countInvitationMails(db, account, clock.now() - HOUR_MS)) < INVITATIONS_OF_ACCOUNT_PER_HOUR,
    /** That of the person, else of the one who invites. */
    async languageFor(...emails: readonly string[]): Promise<Language> {
      for (const email of emails) {
        const person = email.includes('@') ? await findPersonByEmail(db, email) : undefined
        const chosen = person && (await findPreferences(db, person.row))?.language
        if (chosen !== undefined) return chosen
      }
      return 'en'
    },
    /** Whether it is in the outbox: too many mails to one address are not. */
    async isQueued(mail: QueuedMail | undefined): Promise<boolean> {
      if (mail === undefined || (await findDelivery(db, mail.id)) === undefined) return false
      onQueued()
      return true
    },
  }
}
