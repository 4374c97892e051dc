import { z } from 'zod'
import { accountsQuery, createAccountBody, createCodesBody, creditBody, inviteBody } from '../contract/operate.ts'
import { changeKeyBody, createKeyBody, keyCaps, redeemBody, renameKeyBody, rotateKeyBody } from '../contract/owner.ts'
import { moment, named, nothing, pageQuery } from '../contract/values.ts'
import { type OperatedAccountsDeps, operatedAccounts, type ShowAccountDeps, showAccount } from './account-views.ts'
import { type ChangeAccountDeps, type CreateAccountDeps, changeAccountStatus, createAccount } from './accounts.ts'
import { COMMAND_LINE } from './audit.ts'
import { type CreateCodesDeps, createCodes, listCodes, type WithdrawCodeDeps, withdrawCode } from './codes.ts'
import { compareCatalog } from './compare-catalog.ts'
import { type ExplainRouteDeps, explainRoute, type OperatedModelsDeps } from './explain-route.ts'
import { invitePerson } from './invitations.ts'
import { listKeys, type ShowKeyDeps, showKey } from './key-views.ts'
import {
  type ChangeKeyDeps,
  type CreateKeyDeps,
  changeKey,
  createKey,
  type RotateKeyDeps,
  revokeKey,
  rotateKey,
} from './keys.ts'
import { followClock, type LedgerClockDeps, setClockBack, showClock } from './ledger-clock.ts'
import { type ListModelsDeps, listModels } from './models.ts'
import { type Done, type Outcome, refused } from './outcome.ts'
import { disablePerson, enablePerson, listPeople } from './people.ts'
import type { PeopleDeps } from './people-deps.ts'
import { type AssignPlanDeps, assignPlan, endPlan, listPlans, showPlan } from './plans.ts'
import { type RedeemCodeDeps, redeemCodeFor } from './redeem-code.ts'
import { traceRequest } from './requests.ts'
import { type ServerStatus, serverStatus } from './server-status.ts'
import { walletEntries } from './statement.ts'
import { type VerifyLedgerDeps, verifyLedger } from './verify-ledger.ts'
import {
  adjustWallet,
  type CreditWalletDeps,
  creditWallet,
  listFundingRequests,
  refundWallet,
  showWallet,
  type WalletBalanceDeps,
} from './wallet.ts'

/** All that the operator's use cases need together; each asks for its own part only. */
export interface OperationDeps
  extends CreateAccountDeps,
    CreateKeyDeps,
    CreditWalletDeps,
    OperatedAccountsDeps,
    ShowAccountDeps,
    ShowKeyDeps,
    AssignPlanDeps,
    WalletBalanceDeps,
    ChangeAccountDeps,
    ChangeKeyDeps,
    RotateKeyDeps,
    CreateCodesDeps,
    RedeemCodeDeps,
    WithdrawCodeDeps,
    ListModelsDeps,
    ExplainRouteDeps,
    OperatedModelsDeps,
    LedgerClockDeps {
  readonly clock: CreateKeyDeps['clock']
  readonly catalog: CreateKeyDeps['catalog']
  readonly ledger: CreditWalletDeps['ledger'] &
    OperatedAccountsDeps['ledger'] &
    AssignPlanDeps['ledger'] &
    VerifyLedgerDeps['ledger'] &
    LedgerClockDeps['ledger']
  readonly checkFiles?: NonNullable<VerifyLedgerDeps['checkFiles']>
  readonly status: () => ServerStatus
  readonly people: PeopleDeps
}

interface Operation<Schema extends z.ZodType, Value> {
  readonly args: Schema
  readonly run: (deps: OperationDeps, args: z.output<Schema>) => Promise<Outcome<Value>>
}

const operation = <Schema extends z.ZodType, Value>(
  args: Schema,
  run: (deps: OperationDeps, args: z.output<Schema>) => Promise<Outcome<Value>>,
): Operation<Schema, Value> => ({ args, run })

const ofAccount = { account: named }
const oneAccount = z.strictObject(ofAccount)
const oneKey = z.strictObject({ key: named })
const onePerson = z.strictObject({ person: named })
const credit = creditBody.extend(ofAccount)
const capsOfKey = keyCaps
  .extend({ key: named })
  .refine(({ day, month }) => day !== undefined || month !== undefined, 'name the cap of a day, of a month, or both')

/**
 * Everything an operator can ask for, by name. The admin socket of a running server and a command that has locked the
 * data folder serve this same table, so both give the same answers. What each is asked with is made of the schemas by
 * which the console is read.
 */
export const OPERATIONS = {
  'accounts.create': operation(createAccountBody, createAccount),
  'accounts.list': operation(accountsQuery, operatedAccounts),
  'accounts.show': operation(oneAccount, showAccount),
  'accounts.suspend': operation(oneAccount, (deps, args) => changeAccountStatus(deps, args.account, 'suspended')),
  'accounts.activate': operation(oneAccount, (deps, args) => changeAccountStatus(deps, args.account, 'active')),
  'wallet.credit': operation(credit, creditWallet),
  'wallet.refund': operation(credit, refundWallet),
  'wallet.adjust': operation(credit.extend({ direction: z.enum(['add', 'take']) }), adjustWallet),
  'wallet.show': operation(oneAccount, showWallet),
  'wallet.entries': operation(pageQuery.extend(ofAccount), walletEntries),
  'wallet.wishes': operation(pageQuery, listFundingRequests),
  'keys.create': operation(createKeyBody.extend(ofAccount), createKey),
  'keys.list': operation(pageQuery.extend({ account: named.optional() }), listKeys),
  'keys.show': operation(oneKey, showKey),
  'keys.revoke': operation(oneKey, (deps, args) => revokeKey(deps, args)),
  'keys.disable': operation(oneKey, (deps, { key }) => changeKey(deps, { key, disabled: true })),
  'keys.enable': operation(oneKey, (deps, { key }) => changeKey(deps, { key, disabled: false })),
  'keys.rename': operation(renameKeyBody.extend({ key: named }), (deps, args) => changeKey(deps, args)),
  'keys.caps': operation(capsOfKey, (deps, { key, ...caps }) => changeKey(deps, { key, caps })),
  'keys.change': operation(changeKeyBody.extend({ key: named }), (deps, args) => changeKey(deps, args)),
  'keys.rotate': operation(rotateKeyBody.extend({ key: named }), (deps, args) => rotateKey(deps, args)),
  'codes.create': operation(createCodesBody, (deps, args) => createCodes(deps, args)),
  'codes.list': operation(pageQuery, listCodes),
  'codes.withdraw': operation(z.strictObject({ code: named }), withdrawCode),
  'codes.redeem': operation(redeemBody.extend(ofAccount), redeemCodeFor),
  'plans.list': operation(nothing, listPlans),
  'plans.assign': operation(oneAccount.extend({ plan: named, until: moment.optional() }), assignPlan),
  'plans.end': operation(oneAccount.extend({ at: moment.optional() }), endPlan),
  'plans.show': operation(oneAccount, showPlan),
  'people.invite': operation(inviteBody.extend({ account: named.optional() }), (deps, args) =>
    invitePerson(reachedAt(deps), args, COMMAND_LINE),
  ),
  'people.list': operation(pageQuery.extend({ account: named.optional() }), listPeople),
  'people.disable': operation(onePerson, (deps, args) => disablePerson(deps.people, args, COMMAND_LINE)),
  'people.enable': operation(onePerson, (deps, args) => enablePerson(deps.people, args, COMMAND_LINE)),
  'models.list': operation(nothing, listModels),
  'catalog.compare': operation(z.strictObject({ model: z.string().optional() }), compareCatalog),
  'route.explain': operation(z.strictObject({ model: named }), explainRoute),
  'requests.trace': operation(z.strictObject({ request: named }), traceRequest),
  'db.verify': operation(nothing, verifyLedger),
  'db.clock': operation(nothing, showClock),
  'db.clock.follow': operation(nothing, followClock),
  'db.clock.set-back': operation(nothing, setClockBack),
  status: operation(nothing, serverStatus),
}

type Operations = typeof OPERATIONS

export type OperationName = keyof Operations
export type OperationArgs<Name extends OperationName> = z.input<Operations[Name]['args']>
export type OperationValue<Name extends OperationName> =
  Extract<Awaited<ReturnType<Operations[Name]['run']>>, { kind: 'done' }> extends Done<infer Value> ? Value : never

const isOperationName = (name: string): name is OperationName => Object.hasOwn(OPERATIONS, name)

/** Runs an operation by its name with arguments from outside: neither is trusted. */
export async function runOperation(deps: OperationDeps, name: string, args: unknown): Promise<Outcome<unknown>> {
  if (!isOperationName(name)) return refused('unknown_operation', `There is no operation ${JSON.stringify(name)}.`)
  // The table keeps arguments and function of one operation together, which the union of all of them cannot say.
  const { args: schema, run } = OPERATIONS[name] as Operation<z.ZodType, unknown>
  const parsed = schema.safeParse(args)
  if (!parsed.success) return refused('invalid_arguments', describeIssues(parsed.error))
  return run(deps, parsed.data)
}

/** A running server knows under which address it is reached, whatever port it was given. */
function reachedAt({ people, status }: OperationDeps): PeopleDeps {
  const server = status()
  if (!server.running) return people
  return { ...people, consoleUrl: () => `${server.public_url ?? server.url}/console` }
}

const describeIssues = (error: z.ZodError): string =>
  error.issues.map(({ path, message }) => `${path.length === 0 ? 'arguments' : path.join('.')}: ${message}`).join('; ')
