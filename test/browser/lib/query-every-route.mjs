import { CONSOLE_API } from '../../../src/contract/console-api.ts'
import { sampleOf } from '../../e2e/console/routes-with-samples.ts'

/** There is no payment without a provider of them, and nothing that operators manage. */
const WITHOUT_ROWS = ['GET /payments/:payment', 'GET /conversations/:conversation', 'GET /operate/managed/history']
const QUERIES = Object.keys(CONSOLE_API).filter((name) => name.startsWith('GET ') && !WITHOUT_ROWS.includes(name))
const DAY_MS = 86_400_000

/** Sends every query of the console API from the page and returns `{ name, status, text }` of each. */
export async function queryEveryRoute(page) {
  const send = async (name, ids) => {
    const { params = {}, query = {} } = sampleOf(name, ids)
    const path = name.slice('GET '.length).replace(/:(\w+)/g, (_, key) => params[key])
    const search = new URLSearchParams({ ...query, ...sameDays(query) })
    const response = await page.evaluate(fetched, `/console/api${path}?${search}`)
    return { name, ...response }
  }
  const ids = await collectIds(send)
  const responses = []
  for (const name of QUERIES) responses.push(await send(name, ids))
  return responses
}

/** A range with usage, grouped by key. */
function sameDays(query) {
  if (!('from' in query)) return {}
  const day = (shift) => new Date(Date.now() + shift * DAY_MS).toISOString().slice(0, 10)
  return { from: day(-2), to: day(2), ...('by' in query && { by: 'key' }) }
}

async function collectIds(send) {
  const json = async (name) => JSON.parse((await send(name, {})).text)
  const [keys, requests, accounts, plan, teams, members, webhooks, operatorWebhooks, runs] = await Promise.all(
    [
      ...['GET /keys', 'GET /requests', 'GET /operate/accounts', 'GET /plan', 'GET /teams', 'GET /members'],
      ...['GET /webhooks', 'GET /operate/webhooks', 'GET /runs'],
    ].map(json),
  )
  return {
    key: keys.items[0].id,
    request: requests.items[0].id,
    account: accounts.items[0].id,
    run: runs.items[0].id,
    window: plan.windows.find(({ opened }) => opened).id,
    team: teams.items[0].id,
    person: members.items[0].id,
    webhook: webhooks.items[0].id,
    operatorWebhook: operatorWebhooks.items[0].id,
  }
}

const fetched = async (path) => {
  const response = await fetch(path)
  return { status: response.status, text: await response.text() }
}

/** The number of rows of a response, undefined if it is not a list. */
export function rowsIn({ name, text }) {
  if (name.endsWith('.csv')) return text.trimEnd().split('\r\n').length - 1
  if (name.endsWith('.yaml')) return undefined
  const { items, table } = JSON.parse(text)
  return (items ?? table)?.length
}
