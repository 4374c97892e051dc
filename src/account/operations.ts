import type { z } from 'zod'
import { type ChangeAccountDeps, changeAccountStatus, oneAccountArgs } from './accounts/change-account-status.ts'
import { type CreateAccountDeps, createAccount, createAccountArgs } from './accounts/create-account.ts'
import { listAccounts, listAccountsArgs, type ShowAccountDeps, showAccount } from './accounts/show-account.ts'
import { type CreateCodesDeps, createCodes, createCodesArgs } from './codes/create-codes.ts'
import { listCodes } from './codes/list-codes.ts'
import { type RedeemCodeDeps, redeemCodeFor, redeemCodeForArgs } from './codes/redeem-code.ts'
import { type WithdrawCodeDeps, withdrawCode, withdrawCodeArgs } from './codes/withdraw-code.ts'
import { changeCaps, changeCapsArgs } from './keys/change-caps.ts'
import { type ChangeKeyDeps, disableKey, enableKey, revokeKey } from './keys/change-key.ts'
import { type ChangeKeyTermsDeps, changeKeyTerms, changeKeyTermsArgs } from './keys/change-key-terms.ts'
import { type CreateKeyDeps, createKey, createKeyArgs } from './keys/create-key.ts'
import { oneKeyArgs } from './keys/find-owned-key.ts'
import { listKeys, listKeysArgs, type ShowKeyDeps, showKey } from './keys/list-keys.ts'
import { renameKey, renameKeyArgs } from './keys/rename-key.ts'
import { type RotateKeyDeps, rotateKey, rotateKeyArgs } from './keys/rotate-key.ts'
import { type ExplainRouteDeps, explainRoute, explainRouteArgs } from './lanes/explain-route.ts'
import { compareCatalog, compareCatalogArgs } from './models/compare-catalog.ts'
import { listModels, listModelsArgs } from './models/list-models.ts'
import { type Done, type Outcome, refused } from './outcome.ts'
import { pageArgs } from './pages.ts'
import { disablePerson, enablePerson, onePersonArgs } from './people/disable-person.ts'
import { invitePerson, invitePersonArgs } from './people/invite-person.ts'
import { listPeople, listPeopleArgs } from './people/list-people.ts'
import type { PeopleDeps } from './people/people-deps.ts'
import { type AssignPlanDeps, assignPlan, assignPlanArgs, endPlan, endPlanArgs } from './plans/assign-plan.ts'
import { listPlans, listPlansArgs } from './plans/list-plans.ts'
import { showPlan } from './plans/show-plan.ts'
import { traceRequest, traceRequestArgs } from './requests/trace-request.ts'
import { type ServerStatus, serverStatus, serverStatusArgs } from './server-status.ts'
import { COMMAND_LINE } from './trail/audit-trail.ts'
import { type VerifyLedgerDeps, verifyLedger, verifyLedgerArgs } from './verify-ledger.ts'
import {
  adjustWallet,
  adjustWalletArgs,
  type CreditWalletDeps,
  creditWallet,
  creditWalletArgs,
  refundWallet,
} from './wallet/credit-wallet.ts'
import { walletEntries } from './wallet/wallet-entries.ts'
import { type ShowWalletDeps, showWallet } from './wallet/wallet-standing.ts'
import { listWishes } from './wallet/wishes.ts'

/** All that the operator's use cases need together; each asks for its own part only. */
export interface OperationDeps
  extends CreateAccountDeps,
    CreateKeyDeps,
    CreditWalletDeps,
    ShowAccountDeps,
    ShowKeyDeps,
    AssignPlanDeps,
    ShowWalletDeps,
    ChangeAccountDeps,
    ChangeKeyDeps,
    ChangeKeyTermsDeps,
    RotateKeyDeps,
    CreateCodesDeps,
    RedeemCodeDeps,
    WithdrawCodeDeps,
    ExplainRouteDeps {
  readonly catalog: CreateKeyDeps['catalog']
  readonly ledger: CreditWalletDeps['ledger'] &
    ShowAccountDeps['ledger'] &
    AssignPlanDeps['ledger'] &
    VerifyLedgerDeps['ledger']
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

/**
 * Everything an operator can ask for, by name. The admin socket of a running server and a command that has locked the
 * data folder serve this same table, so both give the same answers.
 */
export const OPERATIONS = {
  'accounts.create': operation(createAccountArgs, createAccount),
  'accounts.list': operation(listAccountsArgs, listAccounts),
  'accounts.show': operation(oneAccountArgs, showAccount),
  'accounts.suspend': operation(oneAccountArgs, (deps, args) => changeAccountStatus(deps, args.account, 'suspended')),
  'accounts.activate': operation(oneAccountArgs, (deps, args) => changeAccountStatus(deps, args.account, 'active')),
  'wallet.credit': operation(creditWalletArgs, creditWallet),
  'wallet.refund': operation(creditWalletArgs, refundWallet),
  'wallet.adjust': operation(adjustWalletArgs, adjustWallet),
  'wallet.show': operation(oneAccountArgs, showWallet),
  'wallet.entries': operation(oneAccountArgs, walletEntries),
  'wallet.wishes': operation(pageArgs, listWishes),
  'keys.create': operation(createKeyArgs, createKey),
  'keys.list': operation(listKeysArgs, listKeys),
  'keys.show': operation(oneKeyArgs, showKey),
  'keys.revoke': operation(oneKeyArgs, (deps, args) => revokeKey(deps, args)),
  'keys.disable': operation(oneKeyArgs, disableKey),
  'keys.enable': operation(oneKeyArgs, enableKey),
  'keys.rename': operation(renameKeyArgs, renameKey),
  'keys.caps': operation(changeCapsArgs, changeCaps),
  'keys.change': operation(changeKeyTermsArgs, (deps, args) => changeKeyTerms(deps, args, { mayWiden: true })),
  'keys.rotate': operation(rotateKeyArgs, (deps, args) => rotateKey(deps, args)),
  'codes.create': operation(createCodesArgs, (deps, args) => createCodes(deps, args)),
  'codes.list': operation(pageArgs, listCodes),
  'codes.withdraw': operation(withdrawCodeArgs, withdrawCode),
  'codes.redeem': operation(redeemCodeForArgs, redeemCodeFor),
  'plans.list': operation(listPlansArgs, listPlans),
  'plans.assign': operation(assignPlanArgs, assignPlan),
  'plans.end': operation(endPlanArgs, endPlan),
  'plans.show': operation(oneAccountArgs, showPlan),
  'people.invite': operation(invitePersonArgs, (deps, args) => invitePerson(reachedAt(deps), args, COMMAND_LINE)),
  'people.list': operation(listPeopleArgs, listPeople),
  'people.disable': operation(onePersonArgs, (deps, args) => disablePerson(deps.people, args, COMMAND_LINE)),
  'people.enable': operation(onePersonArgs, (deps, args) => enablePerson(deps.people, args, COMMAND_LINE)),
  'models.list': operation(listModelsArgs, listModels),
  'catalog.compare': operation(compareCatalogArgs, compareCatalog),
  'route.explain': operation(explainRouteArgs, explainRoute),
  'requests.trace': operation(traceRequestArgs, traceRequest),
  'db.verify': operation(verifyLedgerArgs, verifyLedger),
  status: operation(serverStatusArgs, serverStatus),
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
