import type { z } from 'zod'
import { mintRecoveryCode, readRecoveryCode } from '../auth/secrets.ts'
import { findTotpStep, isTotpCode, TOTP_SECRET_BYTES, totpUri, writeTotpSecret } from '../auth/totp.ts'
import type * as contract from '../contract/people.ts'
import { findAccountByRow } from '../db/accounts.ts'
import { findPersonByRow, roleCheck, type StoredPerson, sessionStrengthening, sessionsDelete } from '../db/people.ts'
import {
  accountFactorRule,
  countPeopleWithoutFactor,
  factorRemains,
  factorsRemoval,
  findTotp,
  isUnusedRecoveryCode,
  listPasskeys,
  listRecoveryCodes,
  recoveryCodesEnd,
  recoveryCodesReplacement,
  recoveryCodeUse,
  type StoredTotp,
  sessionsWeakened,
  totpBeginning,
  totpConfirmation,
  totpRemoval,
  totpTry,
  totpUse,
} from '../db/second-factors.ts'
import { type AtomicStatement, UnexpectedChanges } from '../db/sql-store.ts'
import { actorLogOf } from './audit.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { findNamed, forgetPerson, type PeopleServices } from './people.ts'
import { type Session, type SignInServices, serverNeedsFactor } from './sessions.ts'
import { isoTime, isoTimeOrNull } from './values.ts'

/** What apps show beside the email. */
const ISSUER = 'Millrace'
const RECOVERY_CODES = 10
/**
 * Tries of a code, whose password was right: ten at once and one more every six minutes, on all nodes together. 240 guesses a day find one
 * of three valid codes of a million with a chance of 1 in 1,400.
 */
const TRIES = { burstMs: 3_600_000, costMs: 360_000 }

/** The right password needs nothing more, or a code was right: the statements use it up. */
interface FactorPassed {
  readonly kind: 'passed'
  readonly means: contract.SignInMeans
  readonly statements: readonly AtomicStatement[]
}

/**
 * What a person has to give beside the right password. A person whose only factor is a passkey signs in by that, or gives a recovery
 * code; in a session, the password is enough for them.
 */
export async function checkSecondFactor(
  services: SignInServices,
  person: StoredPerson,
  code: string | undefined,
  at: 'sign-in' | 'session',
): Promise<FactorPassed | OperationRefused> {
  const totp = await findConfirmedTotp(services, person.row)
  const hasPasskeys = at === 'sign-in' && (await listPasskeys(services.db, person.row)).length > 0
  if (totp === undefined && !hasPasskeys) return { kind: 'passed', means: 'password', statements: [] }
  if (code === undefined) return totp === undefined ? passkeyNeeded : codeNeeded
  const letters = readRecoveryCode(code)
  if (letters !== undefined) return checkRecoveryCode(services, person, letters)
  const typed = code.replace(/\s/g, '')
  if (totp === undefined || !isTotpCode(typed)) return wrongCode
  const step = await tryTotpCode(services, totp, person, typed)
  if (typeof step !== 'number') return step
  return { kind: 'passed', means: 'code', statements: [totpUse(totp, step)] }
}

async function findConfirmedTotp({ db }: SignInServices, person: number): Promise<StoredTotp | undefined> {
  const totp = await findTotp(db, person)
  return totp?.confirmed_at == null ? undefined : totp
}

export const hasSecondFactor = async (services: SignInServices, person: number): Promise<boolean> =>
  (await findConfirmedTotp(services, person)) !== undefined || (await listPasskeys(services.db, person)).length > 0

async function checkRecoveryCode(
  { db, clock, digestRecoveryCode }: SignInServices,
  { row, id }: StoredPerson,
  letters: string,
): Promise<FactorPassed | OperationRefused> {
  const digest = digestRecoveryCode(id, letters)
  if (!(await isUnusedRecoveryCode(db, row, digest))) return wrongCode
  return { kind: 'passed', means: 'recovery_code', statements: [recoveryCodeUse(row, digest, clock.now())] }
}

/** The time step of a right code. The try is counted before the check. */
async function tryTotpCode(
  services: SignInServices,
  totp: StoredTotp,
  { id }: Pick<StoredPerson, 'id'>,
  code: string,
): Promise<number | OperationRefused> {
  const now = services.clock.now()
  try {
    await services.file.atomic([totpTry(totp.person, { now, ...TRIES })])
  } catch (error) {
    if (!(error instanceof UnexpectedChanges)) throw error
    return refuseOperation('too_many_tries', 'Too many wrong codes. Wait an hour, or use a recovery code or a passkey.')
  }
  const secret = services.totpSeals.open(id, totp)
  if (secret === undefined) throw new Error(`The authenticator secret of ${id} cannot be opened with this key ring`)
  return findTotpStep(secret, code, { now, after: totp.last_step }) ?? wrongCode
}

const codeNeeded = refuseOperation(
  'code_needed',
  'Enter the code of your authenticator app, or a recovery code, beside the password.',
  { param: 'code' },
)
const passkeyNeeded = refuseOperation(
  'code_needed',
  'Sign in with your passkey, or enter a recovery code beside the password.',
  { param: 'code' },
)
export const wrongCode = refuseOperation(
  'wrong_code',
  'The code is wrong, or it was used before. Wait for the next one.',
  { param: 'code' },
)

type Factors = z.output<typeof contract.factors>
type FactorAdded = z.output<typeof contract.factorAdded>

export async function viewFactors(services: SignInServices, person: number): Promise<Factors> {
  const totp = await findConfirmedTotp(services, person)
  const codes = await listRecoveryCodes(services.db, person)
  const passkeys = await listPasskeys(services.db, person)
  return {
    totp: totp === undefined ? null : { since: isoTime(totp.confirmed_at!) },
    recovery_codes_left: codes.filter(({ used_at }) => used_at === null).length,
    passkeys: passkeys.map(({ id, name, created_at, last_used_at }) => ({
      ...{ id, name, created_at: isoTime(created_at), last_used_at: isoTimeOrNull(last_used_at) },
    })),
  }
}

/** A new secret, which does not count until a code of it has confirmed it. */
export async function beginTotp(
  { random, clock, file, totpSeals }: SignInServices,
  { person: { row, id, email } }: Session,
): Promise<Outcome<z.output<typeof contract.totpSecret>>> {
  const secret = random(TOTP_SECRET_BYTES)
  try {
    await file.atomic([totpBeginning(row, totpSeals.seal(id, secret), clock.now())])
  } catch (error) {
    if (error instanceof UnexpectedChanges) return totpExists
    throw error
  }
  return done({ secret: writeTotpSecret(secret), uri: totpUri(secret, { issuer: ISSUER, person: email }) })
}

const totpExists = refuseOperation('factor_exists', 'You have an authenticator app already. Remove it first.')

export async function confirmTotp(
  services: SignInServices,
  session: Session,
  code: string,
): Promise<Outcome<FactorAdded>> {
  const { person } = session
  const begun = await findTotp(services.db, person.row)
  if (begun === undefined) return refuseOperation('factor_not_found', 'Begin with a new secret.')
  if (begun.confirmed_at !== null) return totpExists
  const step = await tryTotpCode(services, begun, person, code.replace(/\s/g, ''))
  if (typeof step !== 'number') return step
  const added = await addFactor(services, session, 'an authenticator app', [
    totpConfirmation(begun, step, services.clock.now()),
  ])
  return added ?? totpExists
}

/** Adds a factor, with recovery codes beside the first one. Undefined if a statement found something else than was expected, or the session has ended. */
export async function addFactor(
  services: SignInServices,
  { row: session, person }: Session,
  what: string,
  statements: readonly AtomicStatement[],
): Promise<Outcome<FactorAdded> | undefined> {
  const isFirst = (await listRecoveryCodes(services.db, person.row)).length === 0
  const codes = isFirst ? mintRecoveryCodes(services, person) : undefined
  const entry = { action: 'factor_added', ...aboutPerson(await stored(services, person)), detail: what } as const
  const isAdded = await actorLogOf(services.audit, person.email)
    .act(entry, [...statements, ...(codes?.statements ?? []), sessionStrengthening(session)])
    .finally(() => services.sessions.forgetAll())
  if (!isAdded) return undefined
  return done({ factors: await viewFactors(services, person.row), codes: codes?.texts ?? null })
}

async function stored({ db }: SignInServices, { row }: Session['person']): Promise<StoredPerson> {
  const person = await findPersonByRow(db, row)
  if (person === undefined) throw new Error(`Person ${row} of a session is missing, although people are never deleted`)
  return person
}

const aboutPerson = ({ id, account }: Pick<StoredPerson, 'id' | 'account'>) => ({ target: id, account })

function mintRecoveryCodes({ random, digestRecoveryCode }: SignInServices, { row, id }: Session['person']) {
  const texts = Array.from({ length: RECOVERY_CODES }, () => mintRecoveryCode(random))
  const digests = texts.map((text) => digestRecoveryCode(id, readRecoveryCode(text)!))
  return { texts, statements: recoveryCodesReplacement(row, digests) }
}

/** Ten new codes; the old ones end. */
export async function renewRecoveryCodes(
  services: SignInServices,
  { person }: Session,
): Promise<Outcome<z.output<typeof contract.recoveryCodes>>> {
  if (!(await hasSecondFactor(services, person.row)))
    return refuseOperation(
      'factor_not_found',
      'Recovery codes stand for an authenticator app or a passkey. Add one first.',
    )
  const { texts, statements } = mintRecoveryCodes(services, person)
  const entry = { action: 'factor_changed', ...aboutPerson(await stored(services, person)) } as const
  await actorLogOf(services.audit, person.email).act({ ...entry, detail: 'new recovery codes' }, statements)
  return done({ codes: texts })
}

export async function removeTotp(services: SignInServices, session: Session): Promise<Outcome<Factors>> {
  const { row } = session.person
  const hasApp = (await findConfirmedTotp(services, row)) !== undefined
  const removed = hasApp && (await removeFactor(services, session, 'the authenticator app', [totpRemoval(row)]))
  return removed === false || removed === 'absent'
    ? refuseOperation('factor_not_found', 'You have no authenticator app.')
    : removed
}

/** Recovery codes end with the last factor, which stays while one is required. The caller has seen that the factor is there. */
export async function removeFactor(
  services: SignInServices,
  { person }: Session,
  what: string,
  statements: readonly AtomicStatement[],
): Promise<Outcome<Factors> | 'absent'> {
  const { row, email } = person
  const entry = { action: 'factor_removed', ...aboutPerson(await stored(services, person)), detail: what } as const
  const isNeeded = serverNeedsFactor(services.rules().secondFactor, person)
  const isRemoved = await actorLogOf(services.audit, email)
    .act(entry, [...statements, factorRemains(row, isNeeded), recoveryCodesEnd(row), sessionsWeakened(row)])
    .finally(() => services.sessions.forgetAll())
  const factors = await viewFactors(services, row)
  if (isRemoved) return done(factors)
  return (factors.totp === null ? 0 : 1) + factors.passkeys.length === 1 ? lastFactor : 'absent'
}

const lastFactor = refuseOperation(
  'last_factor',
  'A second factor is required, and this is your only one. Add another one before you remove it.',
)

type FactorRule = z.output<typeof contract.factorRule>

/** Whether people of an account need a second factor, and how many have none. */
export async function viewFactorRule(
  { people: { db, rules } }: Pick<PeopleServices, 'people'>,
  account: number,
): Promise<FactorRule> {
  const found = await findAccountByRow(db, account)
  return {
    required: found?.second_factor === 1,
    required_by_server: rules().secondFactor === 'everyone',
    people_without: await countPeopleWithoutFactor(db, account),
  }
}

/** It counts for open sessions at once: their people have to give or to add a factor before anything else. */
export async function changeFactorRule(
  services: PeopleServices,
  { account, person }: Pick<Session, 'person'> & { readonly account: NonNullable<Session['account']> },
  isRequired: boolean,
): Promise<Outcome<FactorRule>> {
  const { people, forgetAccount } = services
  const action = isRequired ? 'factor_required' : 'factor_optional'
  const about = { target: account.id, account: account.row }
  // False if it was so already.
  await actorLogOf(people.audit, person.email)
    .act({ action, ...about }, [roleCheck(person), accountFactorRule(account.row, isRequired)])
    .finally(() => forgetPerson({ sessions: people.sessions, forgetAccount }, { account: account.row }))
  return done(await viewFactorRule(services, account.row))
}

/** For a person who has lost them: they sign in by password alone again. Ends their sessions. */
export async function removeFactors(
  { people, forgetAccount }: PeopleServices,
  { person: named }: { readonly person: string },
  actor: string,
) {
  const person = await findNamed(people.db, named)
  if ('kind' in person) return person
  const { id, email, row } = person
  const { totp, passkeys } = await viewFactors(people, row)
  const removed = { id, email, authenticator_app: totp !== null, passkeys: passkeys.length }
  if (totp === null && passkeys.length === 0) return done(removed)
  const what = [...(totp === null ? [] : ['the authenticator app']), ...passkeys.map(({ name }) => `passkey ${name}`)]
  await actorLogOf(people.audit, actor)
    .act({ action: 'factor_removed', ...aboutPerson(person), detail: `${email}: ${what.join(', ')}` }, [
      ...factorsRemoval(row),
      sessionsDelete(row),
    ])
    .finally(() => forgetPerson({ sessions: people.sessions, forgetAccount }, person))
  return done(removed)
}
