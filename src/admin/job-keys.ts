import { callerProblem, judgeKey, readKnownKey } from '../auth/callers.ts'
import { type AdmittedJob, findJob, type JobIssuer, textOfClaim } from '../auth/job-rules.ts'
import { createJobTokens } from '../auth/job-tokens.ts'
import { mintJobKey } from '../auth/secrets.ts'
import { findKeyById, findKeyWithAccount, type KeyWithAccount } from '../db/keys.ts'
import { findRun, jobRunInsert, type StoredRun } from '../db/runs.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/collections.ts'
import { decideRateLimit } from '../lib/rate-limit.ts'
import type { AccountId, KeyId } from '../model/ids.ts'
import { type AuditLog, actorLogOf } from './audit.ts'
import { quoted } from './values.ts'

export type ExchangedToken =
  | {
      readonly kind: 'issued'
      readonly token: string
      readonly expiresAt: number
      readonly run: string
      readonly keyId: KeyId
      readonly accountId: AccountId
    }
  /** `invalid`: with another token it may work. `unavailable`: later it may. */
  | { readonly kind: 'refused'; readonly why: 'invalid' | 'unavailable'; readonly message: string }

/** Jobs begin a run each, whose row stays for a month. */
const BEGUN = { perMinute: 600, burst: 600 }
const RULES_MAX = 10_000

interface JobKeyServices {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly audit: AuditLog
  /** Of the configuration in force: another list after each reload. */
  readonly issuers: () => readonly JobIssuer[]
  /** Derived from the key ring; authenticates the keys. */
  readonly secret: Uint8Array
  /** For the log: the message to the job does not say everything. */
  readonly onRefused: (facts: { readonly issuer?: string; readonly subject?: string; readonly error: unknown }) => void
}

export type JobKeys = ReturnType<typeof createJobKeys>

/** Keys for CI jobs, in exchange for the tokens of their issuers. */
export function createJobKeys(services: JobKeyServices) {
  const { db, clock, issuers, secret, onRefused } = services
  const readToken = createJobTokens(issuers, clock)
  const reachedAt = createLruMap<string, number>(RULES_MAX)
  const mayBegin = (rule: string): boolean => {
    const now = clock.nowMicros()
    const decision = decideRateLimit(BEGUN, reachedAt.get(rule) ?? now, 1, now)
    if (decision.kind === 'taken') reachedAt.set(rule, decision.reachedAt)
    return decision.kind === 'taken'
  }

  return {
    get isOffered() {
      return issuers().length > 0
    },
    /** The same token may come again, for all steps of a job: they share the run. */
    async exchange(sent: string): Promise<ExchangedToken> {
      const read = await readToken(sent)
      if (read.kind === 'failed') {
        onRefused({ error: read.error })
        return read.why === 'unreachable' ? ISSUER_UNREACHABLE : NO_SUCH_TOKEN
      }
      const { by, claims } = read
      const refuse = (message: string): ExchangedToken => {
        onRefused({ issuer: by.name, subject: textOfClaim(claims, 'sub') ?? 'none', error: message })
        return { kind: 'refused', why: 'invalid', message }
      }
      const job = findJob(by.rules, claims)
      if (job === undefined) return refuse('No rule of this server admits the job of this token.')
      if ('missing' in job) return refuse(`The token has no claim ${job.missing}, which names its run.`)
      const key = await findKeyOfRule(services, job)
      if (key === undefined) return refuse('The key of the rule for this job does not exist.')
      const known = judgeKey(await readKnownKey(db, key, 'present'), clock.now())
      if (known.kind === 'refused') return refuse(callerProblem(known.reason).message)
      const found = await findRun(db, key.account, job.run)
      if (found === undefined && !mayBegin(job.rule.name)) return TOO_MANY
      const subject = textOfClaim(claims, 'sub') ?? 'an unnamed subject'
      const run = found ?? (await beginRun(services, { key, job, issuer: by.name, subject }))
      if (run.key !== key.row) return refuse('The run of this job has begun with another key.')
      const now = clock.now()
      const ends = Math.min(now + job.rule.lifetimeMs, run.ends_at, key.expires_at ?? run.ends_at)
      const expiresAt = Math.floor(ends / 1000) * 1000
      if (expiresAt <= now) return refuse('The run of this job has ended.')
      return {
        ...{ kind: 'issued', expiresAt, run: run.id, keyId: key.id as KeyId, accountId: key.account_id as AccountId },
        token: mintJobKey(secret, { run: run.row, expiresAt }, { ...run, key: key.row }),
      }
    },
  }
}

const NO_SUCH_TOKEN: ExchangedToken = {
  ...{ kind: 'refused', why: 'invalid' },
  message:
    'The token is not a valid one of an issuer that this server knows. Check its issuer, its audience and its age.',
}
const ISSUER_UNREACHABLE: ExchangedToken = {
  ...{ kind: 'refused', why: 'unavailable' },
  message: 'The keys of the issuer of this token could not be read. Try again.',
}
const TOO_MANY: ExchangedToken = {
  ...{ kind: 'refused', why: 'unavailable' },
  message: `A rule admits ${BEGUN.perMinute} new runs a minute. Try again.`,
}

async function findKeyOfRule({ db }: Pick<JobKeyServices, 'db'>, { rule }: AdmittedJob) {
  const key = await findKeyById(db, rule.key)
  return key === undefined || key.playground === 1 ? undefined : findKeyWithAccount(db, key.row)
}

interface NewJob {
  readonly key: KeyWithAccount
  readonly job: AdmittedJob
  readonly issuer: string
  readonly subject: string
}

/** With its entry in the audit log, in one commit. Of two exchanges at once, one begins the run. */
async function beginRun(
  { db, clock, audit }: JobKeyServices,
  { key, job, issuer, subject }: NewJob,
): Promise<StoredRun> {
  const { rule, run: id, tags } = job
  const now = clock.now()
  const insert = jobRunInsert({
    ...{ account: key.account, id, amounts: rule.budget, opened_at: now, ends_at: now + rule.endsMs },
    ...{ key: key.row, tags, person: key.person },
  })
  const detail = `run ${id} by the rule ${rule.name} for ${quoted(subject)}`
  const entry = { action: 'job_admitted', target: key.id, account: key.account, detail } as const
  await actorLogOf(audit, `issuer:${issuer}`).act(entry, [insert])
  const stored = await findRun(db, key.account, id)
  if (stored === undefined) throw new Error(`Run ${id} is missing after it was stored`)
  return stored
}
