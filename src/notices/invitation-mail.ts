import type { Language } from '../contract/notices.ts'
import { countInvitationMails, findDelivery, findPreferences, invitationMailRoom, mailDelivery } from '../db/notices.ts'
import { findPersonByEmail } from '../db/people.ts'
import type { AtomicStatement } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RingSeals } from '../lib/crypto.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { mintDeliveryId } from '../model/ids.ts'
import type { SealedInvitation } from './deliver.ts'
import { isMailAddress } from './send-mail.ts'
import { HOUR_MS } from './tell.ts'

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
