import type { Catalogue } from './catalogue.ts'
import { accounts } from './de/accounts.ts'
import { audit } from './de/audit.ts'
import { charts } from './de/charts.ts'
import { codes } from './de/codes.ts'
import { common } from './de/common.ts'
import { connect } from './de/connect.ts'
import { found } from './de/found.ts'
import { keys } from './de/keys.ts'
import { lanes } from './de/lanes.ts'
import { models } from './de/models.ts'
import { overview } from './de/overview.ts'
import { people } from './de/people.ts'
import { plan } from './de/plan.ts'
import { plans } from './de/plans.ts'
import { playground } from './de/playground.ts'
import { problems } from './de/problems.ts'
import { requests } from './de/requests.ts'
import { settings } from './de/settings.ts'
import { shell } from './de/shell.ts'
import { system } from './de/system.ts'
import { usage } from './de/usage.ts'
import { wallet } from './de/wallet.ts'

export const de: Catalogue = {
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
}
