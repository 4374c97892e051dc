import { CONSOLE_API } from '../../../src/contract/console-api.ts'
import { sampleOf } from '../../e2e/console/routes-with-samples.ts'

const QUESTIONS = Object.keys(CONSOLE_API).filter((name) => name.startsWith('GET '))
const DAY_MS = 86_400_000

/** Everything that the console can ask, asked by the page with what there is: `{ name, status, text }` of each. */
export async function askEveryQuestion(page) {
  const ask = async (name, things) => {
    const { params = {}, query = {} } = sampleOf(name, things)
    const path = name.slice('GET '.length).replace(/:(\w+)/g, (_, key) => params[key])
    const search = new URLSearchParams({ ...query, ...sameDays(query) })
    const told = await page.evaluate(fetched, `/console/api${path}?${search}`)
    return { name, ...told }
  }
  const things = await thingsSeenBy(ask)
  const told = []
  for (const name of QUESTIONS) told.push(await ask(name, things))
  return told
}

/** Keys by their ids and names, and of a time in which something was used. */
function sameDays(query) {
  if (!('from' in query)) return {}
  const day = (shift) => new Date(Date.now() + shift * DAY_MS).toISOString().slice(0, 10)
  return { from: day(-2), to: day(2), ...('by' in query && { by: 'key' }) }
}

async function thingsSeenBy(ask) {
  const json = async (name) => JSON.parse((await ask(name, {})).text)
  const [keys, requests, accounts, plan] = await Promise.all(
    ['GET /keys', 'GET /requests', 'GET /operate/accounts', 'GET /plan'].map(json),
  )
  return {
    key: keys.items[0].id,
    request: requests.items[0].id,
    account: accounts.items[0].id,
    window: plan.windows.find(({ opened }) => opened).id,
  }
}

const fetched = async (path) => {
  const response = await fetch(path)
  return { status: response.status, text: await response.text() }
}

/** How many rows an answer has; undefined for one that is no list. */
export function rowsIn({ name, text }) {
  if (name.endsWith('.csv')) return text.trimEnd().split('\r\n').length - 1
  const { items, table } = JSON.parse(text)
  return (items ?? table)?.length
}
