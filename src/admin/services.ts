import type { ScimRule } from '../auth/oidc.ts'
import type { MintedKey } from '../auth/secrets.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Conversations } from '../db/content/conversations.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { IntegrityReport } from '../db/sqlite/check-integrity.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock, SteadyClock } from '../lib/clock.ts'
import type { LruMap } from '../lib/collections.ts'
import type { RingSeals } from '../lib/crypto.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { KeyKind, RateLimits } from '../model/caller.ts'
import type { AccountRow, KeyId } from '../model/ids.ts'
import type { Mailer } from '../notices/send-mail.ts'
import type { PaymentProvider, PaymentTerms } from '../payments/provider.ts'
import type { EstimateErrors } from '../pricing/estimate.ts'
import type { LaneHealth } from '../routing/circuit-breaker.ts'
import type { ActorLog } from './audit.ts'
import type { ServedCounter } from './count-served.ts'
import type { CountedInputs, RefusedTurnCounter, UsageKeeper } from './count-usage.ts'
import type { ManagedConfig } from './managed-state.ts'
import type { Outcome } from './outcome.ts'
import type { StatusSources } from './server-status.ts'
import type { SignInServices } from './sessions.ts'
import type { RedeemTries } from './sign-in-limits.ts'

/** The services of all use cases of operators. `app` builds it once. */
export interface AdminServices {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly random: RandomBytes
  readonly ledger: Ledger
  readonly catalog: () => Catalog
  readonly health: LaneHealth
  readonly estimateErrors: Pick<EstimateErrors, 'of'>
  readonly countedInputs: Pick<CountedInputs, 'largest'>
  readonly auditLog: ActorLog
  readonly people: SignInServices
  readonly mintKey: (kind: KeyKind) => MintedKey
  /** Secrets of the management API. */
  readonly adminKeys: { mint(): MintedKey; digest(token: string): Uint8Array }
  /** Digests the letters of a code under a key of the key ring. */
  readonly digestCode: (letters: string) => Uint8Array
  readonly redeemTries: RedeemTries
  /** Undefined: nothing is paid by card. */
  readonly payments?: CardPayments | undefined
  /** How many keys one account may have that are not revoked. */
  readonly liveKeysMax: () => number
  /** The limits of keys without limits of their own. */
  readonly keyRateLimits: () => RateLimits
  /** Drops a key from the server's cache, so that the next request reads it again. */
  readonly forgetKey: (id: KeyId) => void
  /** Drops the keys of an account from the server's cache. */
  readonly forgetAccount: (account: AccountRow) => void
  /** Drops all cached keys and sessions. */
  readonly forgetAll: () => void
  /** What operators manage beside the configuration file. */
  readonly managed: ManagedConfig
  readonly ledgerClock: SteadyClock
  readonly notices: NoticeAdmin
  /** The two files whose rows have times. */
  readonly files: { readonly ledger: SqlStore; readonly content: SqlStore }
  readonly usage: Pick<UsageKeeper, 'readUpToDate'>
  readonly served: Pick<ServedCounter, 'readUpToDate'>
  /** Checks the structure of the database files; absent if there are none. */
  readonly checkFiles?: (() => Promise<readonly FileCheck[]>) | undefined
  /** Copies the database files, the journal and the key ring as they are at one moment; absent on PostgreSQL. */
  readonly copyFiles?: ((request: BackupCopy) => Promise<Outcome<BackupPoint>>) | undefined
}

export interface CardPayments {
  readonly provider: PaymentProvider
  readonly terms: PaymentTerms
  /** When the provider was last asked about an open payment. */
  readonly askedAt: LruMap<string, number>
}

/** Of notices, for people who manage where they are sent. */
export interface NoticeAdmin {
  readonly secrets: RingSeals
  /** Undefined without a mail server. */
  readonly mailer: Mailer | undefined
  /** Whether webhooks may be at private addresses. */
  readonly allowPrivateWebhooks: boolean
  /** Something is to be sent. */
  readonly onQueued: () => void
  /** Looks soon at what is to be told about an account. */
  readonly examine: (account: number) => void
}

export interface BackupCopy {
  /** A new folder; the one above exists. */
  readonly folder: string
  /** Whether to copy keyring.json. */
  readonly key_ring: boolean
  /** Called once nothing speaks against the copy, before it begins. */
  begin(): Promise<void>
}

/** What is known about a copy when it is made. The command verifies it and makes a backup of it (app/backup.ts). */
export interface BackupPoint {
  readonly taken_at: string
  /** The id of the ledger. */
  readonly ledger: string
  /** Ends of turns that only the journal has. */
  readonly ends_in_journal: number
  readonly source: { readonly host: string; readonly data: string; readonly config: string | null }
  readonly key_ring: {
    /** `file`: copied; `environment`: the server has it from there; `apart`: the operator keeps keyring.json elsewhere. */
    readonly where: 'file' | 'environment' | 'apart'
    /** Ids that are derived from the secrets, and say nothing about them. */
    readonly founding: string
    readonly ids: readonly string[]
  }
}

/** For use cases that are also called with less than all services. */
export type DbService = Pick<AdminServices, 'db'>

/** What a command or a running server adds. */
export interface OperatorServices extends AdminServices, StatusSources {}

export interface FileCheck {
  /** e.g. `ledger.db`. */
  readonly file: string
  readonly report: IntegrityReport
}

/** The services of the use cases behind the console, which a running server has in addition. */
export interface OwnerServices extends OperatorServices {
  readonly content: SqlStore
  readonly conversations: Conversations
  readonly refusedTurns: Pick<RefusedTurnCounter, 'flush' | 'firstReported'>
  /** Groups of a directory that give a role in an account. */
  readonly scimRoles: () => readonly (ScimRule & { readonly account: string })[]
  /** When each of these keys, by row, was last used; keys that never were are absent. */
  readonly lastUsed: (account: AccountRow, keys: readonly number[]) => Promise<ReadonlyMap<number, number>>
}
