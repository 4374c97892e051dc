import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { applyBody } from '../contract/accounts-file.ts'
import { createAdminKeyBody } from '../contract/admin-keys.ts'
import { caps, changeTeamBody, createTeamBody, raiseBody } from '../contract/caps.ts'
import { historyQuery, managedChange, previewBody, providerBody, testBody } from '../contract/managed.ts'
import {
  addWebhookBody,
  changeSettingsBody,
  changeWebhookBody,
  mailTestBody,
  ofAnyAccount,
} from '../contract/notices.ts'
import { accountsQuery, createAccountBody, createCodesBody, creditBody, inviteBody } from '../contract/operate.ts'
import { invoiceQuery, servedQuery } from '../contract/operator-reports.ts'
import {
  changeKeyBody,
  createKeyBody,
  redeemBody,
  renameKeyBody,
  rotateKeyBody,
  usageQuery,
} from '../contract/owner.ts'
import { reconcileBody } from '../contract/payments.ts'
import { moment, named, nothing, pageQuery } from '../contract/values.ts'
import type { Clock } from '../lib/clock.ts'
import { operatedAccounts, showAccount } from './account-views.ts'
import { changeAccountStatus, createAccount, resolveAccount } from './accounts.ts'
import { createAdminKey, listAdminKeys, revokeAdminKey } from './admin-keys.ts'
import { applyAccounts, exportAccounts } from './apply.ts'
import { COMMAND_LINE } from './audit.ts'
import { changeMemberCaps, changeNewKeyCaps, raiseMemberCap, showMember } from './caps.ts'
import { createCodes, listCodes, redeemCodeFor, withdrawCode } from './codes.ts'
import { compareCatalog } from './compare-catalog.ts'
import { findModels, testProvider } from './find-models.ts'
import { inviteAtServer } from './invitations.ts'
import { invoice, invoiceCsv } from './invoice.ts'
import { changeKey, createKey, listKeys, raiseKeyCap, revokeKey, rotateKey, showKey } from './keys.ts'
import { copyForBackup, followClock, setClockBack, showClock, verifyLedger } from './ledger-maintenance.ts'
import { changeManaged, listManagedEntries, managedVersions } from './managed.ts'
import { exportManaged } from './managed-yaml.ts'
import { explainRoute, listModels } from './models.ts'
import { changeNoticeSettings, listNoticesOf, showNoticeSettings } from './notices.ts'
import { type Done, done, ifDone, type Outcome, refuseOperation } from './outcome.ts'
import { listPayments } from './payments.ts'
import { disablePerson, enablePerson, listPeople, unlinkPerson } from './people.ts'
import { assignPlan, endPlan, listPlans, showPlan } from './plans.ts'
import { previewPrice } from './price-preview.ts'
import { reconcilePayments } from './reconcile-payments.ts'
import { traceRequest } from './requests.ts'
import { removeFactors } from './second-factors.ts'
import { servedReport } from './served-report.ts'
import { type StatusSources, statusOfAll } from './server-status.ts'
import type { DbService, OperatorServices } from './services.ts'
import { walletEntries } from './statement.ts'
import { changeTeam, createTeam, listTeams, raiseTeamCap, showTeam } from './teams.ts'
import { exportUsage, usageOfAccounts, usageReport, withDays } from './usage-report.ts'
import { adjustWallet, creditWallet, listFundingRequests, refundWallet, showWallet } from './wallet.ts'
import {
  addWebhook,
  changeWebhook,
  listWebhookDeliveries,
  listWebhooks,
  removeWebhook,
  resendDelivery,
  resolveOwner,
  rotateWebhook,
  testMail,
  testWebhook,
} from './webhooks.ts'

interface Operation<Schema extends z.ZodType, Value> {
  readonly args: Schema
  readonly run: (services: OperatorServices, args: z.output<Schema>) => Promise<Outcome<Value>>
}

const operation = <Schema extends z.ZodType, Value>(
  args: Schema,
  run: (services: OperatorServices, args: z.output<Schema>) => Promise<Outcome<Value>>,
): Operation<Schema, Value> => ({ args, run })

const absolutePath = z.string().refine(isAbsolute, 'must be an absolute path')
const ofAccount = { account: named }
const oneAccount = z.strictObject(ofAccount)
const oneKey = z.strictObject({ key: named })
const onePerson = z.strictObject({ person: named })
const oneWebhook = z.strictObject({ webhook: named })
const oneTeam = z.strictObject({ team: named })
const credit = creditBody.extend(ofAccount)
/** As the console asks for it, with days, steps and parts that need not be named. */
const usageOfOne = usageQuery
  .extend({ step: usageQuery.shape.step.default('day'), by: usageQuery.shape.by.default('model'), ...ofAccount })
  .partial({ from: true, to: true, zone: true })
const withContent = ({ db, files, usage, served, clock }: OperatorServices) => ({
  ...{ db, content: files.content, usage, served, clock },
})
const capsOf = <Name extends string>(name: Name) =>
  caps
    .extend({ [name]: named } as { [Each in Name]: typeof named })
    .refine((terms) => Object.keys(terms).length > 1, 'set at least one cap')
const raiseOf = <Name extends string>(name: Name) =>
  raiseBody.extend({ [name]: named } as { [Each in Name]: typeof named })

/**
 * The operations of operators, by name. The admin socket of a running server and a command that has locked the data folder
 * use the same table, so both give the same results. The arguments reuse the schemas of the console API.
 */
export const OPERATIONS = {
  'accounts.create': operation(createAccountBody, createAccount),
  'accounts.list': operation(accountsQuery, operatedAccounts),
  'accounts.show': operation(oneAccount, showAccount),
  'accounts.suspend': operation(oneAccount, (services, { account }) =>
    changeAccountStatus(services, account, 'suspended'),
  ),
  'accounts.activate': operation(oneAccount, (services, { account }) =>
    changeAccountStatus(services, account, 'active'),
  ),
  'accounts.apply': operation(applyBody, (services, args) => applyAccounts(services, args, COMMAND_LINE)),
  'accounts.export': operation(pageQuery, exportAccounts),
  'wallet.credit': operation(credit, creditWallet),
  'wallet.refund': operation(credit, refundWallet),
  'wallet.adjust': operation(credit.extend({ direction: z.enum(['add', 'take']) }), adjustWallet),
  'wallet.show': operation(oneAccount, showWallet),
  'wallet.entries': operation(pageQuery.extend(ofAccount), walletEntries),
  'wallet.wishes': operation(pageQuery, listFundingRequests),
  'keys.create': operation(createKeyBody.extend(ofAccount), createKey),
  'keys.list': operation(pageQuery.extend({ account: named.optional() }), listKeys),
  'keys.show': operation(oneKey, showKey),
  'keys.revoke': operation(oneKey, (services, args) => revokeKey(services, args)),
  'keys.disable': operation(oneKey, (services, { key }) => changeKey(services, { key, disabled: true })),
  'keys.enable': operation(oneKey, (services, { key }) => changeKey(services, { key, disabled: false })),
  'keys.rename': operation(renameKeyBody.extend({ key: named }), (services, args) => changeKey(services, args)),
  'keys.caps': operation(capsOf('key'), (services, { key, ...terms }) => changeKey(services, { key, caps: terms })),
  'keys.raise': operation(raiseOf('key'), (services, args) => raiseKeyCap(services, args)),
  'keys.change': operation(changeKeyBody.extend({ key: named }), (services, args) => changeKey(services, args)),
  'keys.rotate': operation(rotateKeyBody.extend({ key: named }), (services, args) => rotateKey(services, args)),
  'codes.create': operation(createCodesBody, (services, args) => createCodes(services, args)),
  'codes.list': operation(pageQuery, listCodes),
  'codes.withdraw': operation(z.strictObject({ code: named }), withdrawCode),
  'codes.redeem': operation(redeemBody.extend(ofAccount), redeemCodeFor),
  'payments.list': operation(pageQuery.extend({ owed: z.boolean().optional() }), listPayments),
  'payments.reconcile': operation(reconcileBody, reconcilePayments),
  'plans.list': operation(nothing, listPlans),
  'plans.assign': operation(oneAccount.extend({ plan: named, until: moment.optional() }), assignPlan),
  'plans.end': operation(oneAccount.extend({ at: moment.optional() }), endPlan),
  'plans.show': operation(oneAccount, showPlan),
  'people.invite': operation(inviteBody.extend({ account: named.optional() }), (services, args) =>
    inviteAtServer(services, args, COMMAND_LINE),
  ),
  'people.list': operation(pageQuery.extend({ account: named.optional() }), listPeople),
  'people.disable': operation(onePerson, (services, args) => disablePerson(services, args, COMMAND_LINE)),
  'people.enable': operation(onePerson, (services, args) => enablePerson(services, args, COMMAND_LINE)),
  'people.remove-factors': operation(onePerson, (services, args) => removeFactors(services, args, COMMAND_LINE)),
  'people.unlink': operation(onePerson, (services, args) => unlinkPerson(services, args, COMMAND_LINE)),
  'people.show': operation(onePerson, showMember),
  'people.caps': operation(capsOf('person'), (services, args) => changeMemberCaps(services, args)),
  'people.raise': operation(raiseOf('person'), raiseMemberCap),
  'teams.create': operation(createTeamBody.extend(ofAccount), createTeam),
  'teams.list': operation(pageQuery.extend(ofAccount), listTeams),
  'teams.show': operation(oneTeam, (services, args) => showTeam(services, args)),
  'teams.change': operation(changeTeamBody.extend({ team: named }), (services, args) => changeTeam(services, args)),
  'teams.raise': operation(raiseOf('team'), (services, args) => raiseTeamCap(services, args)),
  'accounts.new-key-caps': operation(capsOf('account'), (services, args) => changeNewKeyCaps(services, args)),
  'notices.list': operation(pageQuery.extend({ account: named.optional() }), listNoticesOf),
  'notices.settings.show': operation(oneAccount, showNoticeSettings),
  'notices.settings': operation(changeSettingsBody.extend(ofAccount), changeNoticeSettings),
  'webhooks.list': operation(ofAnyAccount, (services, args) =>
    ifDone(resolveOwner(services, args), (account) => listWebhooks(services, account)),
  ),
  'webhooks.add': operation(addWebhookBody.extend(ofAnyAccount.shape), (services, { account: named, ...args }) =>
    ifDone(resolveOwner(services, { ...(named !== undefined && { account: named }) }, 'open'), (account) =>
      addWebhook(services, account, args, COMMAND_LINE),
    ),
  ),
  'webhooks.change': operation(changeWebhookBody.extend({ webhook: named }), (services, args) =>
    changeWebhook(services, 'all', args),
  ),
  'webhooks.rotate': operation(oneWebhook, (services, args) => rotateWebhook(services, 'all', args)),
  'webhooks.remove': operation(oneWebhook, (services, args) => removeWebhook(services, 'all', args)),
  'webhooks.test': operation(oneWebhook, (services, args) => testWebhook(services, 'all', args)),
  'webhooks.deliveries.list': operation(pageQuery.extend({ webhook: named }), (services, args) =>
    listWebhookDeliveries(services, 'all', args),
  ),
  'webhooks.resend': operation(oneWebhook.extend({ delivery: named }), (services, args) =>
    resendDelivery(services, 'all', args),
  ),
  'mail.test': operation(mailTestBody, testMail),
  'admin-keys.create': operation(createAdminKeyBody, (services, args) => createAdminKey(services, args)),
  'admin-keys.list': operation(pageQuery, listAdminKeys),
  'admin-keys.revoke': operation(oneKey, (services, args) => revokeAdminKey(services, args)),
  'managed.list': operation(nothing, listManagedEntries),
  'managed.change': operation(managedChange, (services, args) => changeManaged(services, args, COMMAND_LINE)),
  'managed.history': operation(historyQuery, managedVersions),
  'managed.export': operation(nothing, exportManaged),
  'managed.preview': operation(previewBody, previewPrice),
  'managed.find': operation(providerBody, findModels),
  'managed.try': operation(testBody, testProvider),
  'models.list': operation(nothing, listModels),
  'catalog.compare': operation(z.strictObject({ model: z.string().optional() }), compareCatalog),
  'route.explain': operation(z.strictObject({ model: named }), explainRoute),
  'requests.trace': operation(z.strictObject({ request: named }), traceRequest),
  'usage.report': operation(usageOfOne, (services, { account, ...args }) =>
    usageReport(withContent(services), { ...withDays(services, args), account }),
  ),
  'usage.export': operation(usageOfOne, (services, { account, ...args }) =>
    exportUsage(withContent(services), { ...withDays(services, args), account }),
  ),
  'invoice.show': operation(invoiceQuery.extend(ofAccount), (services, args) => invoice(withContent(services), args)),
  'invoice.export': operation(invoiceQuery.extend(ofAccount), (services, args) =>
    ifDone(invoice(withContent(services), args), (made) => done(invoiceCsv(made))),
  ),
  'served.report': operation(
    servedQuery.partial({ from: true, to: true, zone: true }).extend({ step: servedQuery.shape.step.default('day') }),
    (services, args) => servedReport(withContent(services), { ...args, ...withDays(services, args) }),
  ),
  'usage.accounts': operation(
    pageQuery.extend({
      from: usageQuery.shape.from.optional(),
      to: usageQuery.shape.to.optional(),
      zone: named.optional(),
    }),
    (services, args) => usageOfAccounts(withContent(services), args),
  ),
  'db.verify': operation(nothing, verifyLedger),
  'db.backup': operation(
    z.strictObject({ to: absolutePath, folder: absolutePath, key_ring: z.boolean() }),
    copyForBackup,
  ),
  'db.clock': operation(nothing, showClock),
  'db.clock.follow': operation(nothing, followClock),
  'db.clock.set-back': operation(nothing, setClockBack),
  'metrics.read': operation(nothing, readMetrics),
  'logs.read': operation(
    z.strictObject({ after: z.string().max(40).optional(), account: named.optional(), errors: z.boolean().optional() }),
    readLog,
  ),
  status: operation(nothing, async (services) => done(await statusOfAll(services))),
}

type Operations = typeof OPERATIONS

export type OperationName = keyof Operations
export type OperationArgs<Name extends OperationName> = z.input<Operations[Name]['args']>
export type OperationValue<Name extends OperationName> =
  Extract<Awaited<ReturnType<Operations[Name]['run']>>, { kind: 'done' }> extends Done<infer Value> ? Value : never

const isOperationName = (name: string): name is OperationName => Object.hasOwn(OPERATIONS, name)

/** Runs an operation with an untrusted name and untrusted arguments. */
export async function runOperation(services: OperatorServices, name: string, args: unknown): Promise<Outcome<unknown>> {
  if (!isOperationName(name))
    return refuseOperation('unknown_operation', `There is no operation ${JSON.stringify(name)}.`)
  // The table keeps the arguments and the function of one operation together, which the union cannot express.
  const { args: schema, run } = OPERATIONS[name] as Operation<z.ZodType, unknown>
  const parsed = schema.safeParse(args)
  if (parsed.success) return run(services, parsed.data)
  const issues = parsed.error.issues.map(
    ({ path, message }) => `${path.length === 0 ? 'arguments' : path.join('.')}: ${message}`,
  )
  return refuseOperation('invalid_arguments', issues.join('; '))
}

const NOT_SERVING = refuseOperation('not_serving', 'No server runs here.')

/** The metrics of this process, with the time at which they were read. */
async function readMetrics({ renderMetrics, clock }: StatusSources & { readonly clock: Pick<Clock, 'nowMicros'> }) {
  if (renderMetrics === undefined) return NOT_SERVING
  return done({ text: await renderMetrics(), at_ms: clock.nowMicros() / 1000 })
}

interface LogArgs {
  readonly after?: string | undefined
  /** Id or email. */
  readonly account?: string | undefined
  readonly errors?: boolean | undefined
}

/** The newest lines of the log of this process. */
async function readLog({ logWatch, db }: StatusSources & DbService, { after, account, errors }: LogArgs) {
  if (logWatch === undefined) return NOT_SERVING
  const resolved = account === undefined ? undefined : await resolveAccount({ db }, account)
  if (resolved?.kind === 'refused') return resolved
  return done(logWatch.read(after, { account: resolved?.value.id, errors }))
}
