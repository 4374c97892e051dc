import { accounts } from './en/accounts.ts'
import { audit } from './en/audit.ts'
import { charts } from './en/charts.ts'
import { codes } from './en/codes.ts'
import { common } from './en/common.ts'
import { connect } from './en/connect.ts'
import { found } from './en/found.ts'
import { keys } from './en/keys.ts'
import { lanes } from './en/lanes.ts'
import { models } from './en/models.ts'
import { overview } from './en/overview.ts'
import { people } from './en/people.ts'
import { plan } from './en/plan.ts'
import { plans } from './en/plans.ts'
import { playground } from './en/playground.ts'
import { problems } from './en/problems.ts'
import { requests } from './en/requests.ts'
import { settings } from './en/settings.ts'
import { shell } from './en/shell.ts'
import { system } from './en/system.ts'
import { usage } from './en/usage.ts'
import { wallet } from './en/wallet.ts'

export const en = {
  common,
  problems,
  shell,
  people,
  settings,
  charts,
  overview,
  keys,
  wallet,
  plan,
  usage,
  requests,
  models,
  playground,
  connect,
  audit,
  accounts,
  codes,
  plans,
  found,
  lanes,
  system,
} as const
