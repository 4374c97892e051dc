import { nanoOf } from '../../chaos/lib/price.mjs'

const DAY_MS = 86_400_000

/** What owners, operators and their programs are shown at the end of the day: pages, exports, statements and invoices. */
export async function readPages({ site, accounts, call, adminKey }, midnight) {
  const day = (ms) => new Date(midnight + ms).toISOString().slice(0, 10)
  // From before the accounts were made.
  const range = `from=${day(-40 * DAY_MS)}&to=${day(2 * DAY_MS)}&zone=UTC`
  const file = async (path) => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const response = await fetch(`${site.url()}/admin/v1/${path}`, { headers })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.text()
  }
  const pages = { served: await call('GET', `served?${range}&step=day`), notices: [] }
  for (const of of ['', `&account=${accounts.small.email}`, `&account=${accounts.leaky.email}`]) {
    const { items } = await call('GET', `notices?limit=100${of}`)
    pages.notices.push(...items.map(({ event }) => event))
  }
  for (const { name, email, owner } of Object.values(accounts)) {
    const of = `accounts/${email}`
    pages[name] = {
      byModel: await call('GET', `${of}/usage?${range}&step=day&by=model`),
      byKey: await call('GET', `${of}/usage?${range}&step=day&by=key`),
      console: await owner?.('GET', `/usage?${range}&step=day&by=key`),
      consoleFile: await owner?.('GET', `/usage.csv?${range}&step=day&by=model`),
      usageFile: await file(`${of}/usage.csv?${range}&step=day&by=key`),
      statement: await file(`${of}/wallet/statement.csv?${range}`),
      invoice: await call('GET', `${of}/invoice?${range.replace(/to=[^&]+/, `to=${day(2 * DAY_MS)}`)}`),
      receipts: await file(`${of}/requests.jsonl`),
      wallet: await call('GET', `${of}/wallet`),
    }
  }
  return pages
}

/** Amounts may be negative. */
const nano = (text) => (text.startsWith('-') ? -nanoOf(text.slice(1)) : nanoOf(text))

/** All of these say the same as the receipts, to the nano-dollar. */
export function auditPages({ pages, rows, accounts }, report) {
  const rowOf = new Map(rows.accounts.map(({ email, row }) => [email, row]))
  const keyOf = new Map(rows.keys.map(({ row, id }) => [row, id]))
  let compared = 0
  let total = 0n
  for (const [name, { email, kind, credits }] of Object.entries(accounts)) {
    const own = rows.receipts.filter(({ account }) => account === rowOf.get(email))
    const page = pages[name]
    const same = (what, said, expected) => {
      compared += 1
      if (said !== expected) report('pages', name, `${what} says ${said}, the receipts ${expected}`)
    }
    const sums = sumUp(own, keyOf)
    total += sums.all.charge
    for (const [what, { total: said }] of Object.entries({ byModel: page.byModel, byKey: page.byKey })) {
      same(`usage ${what}`, textOf(said), sums.all.text)
    }
    sameTable('usage by model', page.byModel, sums.models, same)
    sameTable('usage by key', page.byKey, sums.keys, same)
    page.byKey.total_steps.forEach((used, index) => {
      const day = page.byKey.steps[index].slice(0, 10)
      same(`usage of ${day}`, textOf(used), (sums.days.get(day) ?? emptySum()).text)
    })
    if (page.console !== undefined) {
      sameTable('console by key', page.console, sums.keys, same)
      sameFile('console.csv', page.consoleFile, sums.modelDays, same)
    }
    sameFile('usage.csv', page.usageFile, sums.keyDays, same)
    sameReceipts(page.receipts, own, same)
    sameWallet({ page, credits, charged: kind === 'wallet' ? sums.all.charge : 0n }, same)
    const { totals } = page.invoice
    same('invoice', `${totals.requests} ${nano(totals.charged) + nano(totals.plan)}`, sums.all.text)
  }
  const { charged } = servedOf(pages.served)
  compared += 1
  if (charged !== total) report('pages', 'served', `the overview says ${charged}, the receipts ${total}`)
  return { compared, total }
}

const servedOf = ({ total }) => ({
  charged: ['wallet', 'plan', 'revenue', 'charged'].reduce(
    (sum, name) => (typeof total[name] === 'string' ? sum + nano(total[name]) : sum),
    0n,
  ),
})

class Sum {
  requests = 0
  charge = 0n
  add({ charge_nano: charge }) {
    this.requests += 1
    this.charge += charge
  }
  get text() {
    return `${this.requests} ${this.charge}`
  }
}
const emptySum = () => new Sum()
const textOf = ({ requests, wallet, plan }) => `${requests} ${nano(wallet) + nano(plan)}`

function sumUp(receipts, keyOf) {
  const sums = { all: emptySum(), models: new Map(), keys: new Map(), days: new Map() }
  Object.assign(sums, { keyDays: new Map(), modelDays: new Map() })
  const into = (map, name, receipt) => {
    if (!map.has(name)) map.set(name, emptySum())
    map.get(name).add(receipt)
  }
  for (const receipt of receipts) {
    const [day, key] = [new Date(receipt.closed_at).toISOString().slice(0, 10), keyOf.get(receipt.key)]
    sums.all.add(receipt)
    into(sums.models, receipt.model, receipt)
    into(sums.keys, key, receipt)
    into(sums.days, day, receipt)
    into(sums.keyDays, `${day} ${key}`, receipt)
    into(sums.modelDays, `${day} ${receipt.model}`, receipt)
  }
  return sums
}

function sameTable(what, { table }, sums, same) {
  const said = new Map(table.map(({ id, used }) => [id, textOf(used)]))
  for (const [id, sum] of sums) same(`${what} ${id}`, said.get(id), sum.text)
  same(`rows of ${what}`, table.filter(({ used }) => used.requests > 0).length, sums.size)
}

const linesOf = (file) => file.trim().split(/\r?\n/).slice(1)
const columnsOf = (file) => file.split(/\r?\n/, 1)[0].split(',')

/** Rows of an export, added up by their day and part. */
function sameFile(what, file, sums, same) {
  const columns = columnsOf(file)
  const at = (name) => columns.indexOf(name)
  const said = new Map()
  for (const line of linesOf(file)) {
    const cells = line.split(',')
    const used = {
      requests: Number(cells[at('requests')]),
      wallet: cells[at('wallet_usd')],
      plan: cells[at('plan_usd')],
    }
    if (used.requests > 0) said.set(`${cells[0].slice(0, 10)} ${cells[1]}`, textOf(used))
  }
  for (const [place, sum] of sums) same(`${what} of ${place}`, said.get(place), sum.text)
  same(`rows of ${what}`, said.size, sums.size)
}

function sameReceipts(file, own, same) {
  const said = new Map(
    file
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
      .map(({ id, charge }) => [id, charge]),
  )
  same('rows of requests.jsonl', said.size, own.length)
  for (const { request_id: id, charge_nano: charge } of own) {
    const text = said.get(id)
    same(`requests.jsonl of ${id}`, text === undefined ? undefined : nano(text ?? '0'), charge)
  }
}

/** Credits less charges is the balance; so says the statement, line by line, and the wallet. */
function sameWallet({ page, credits, charged }, same) {
  const credited = credits.reduce((sum, { amount }) => sum + nanoOf(amount), 0n)
  const columns = columnsOf(page.statement)
  const [amount, balance] = [columns.indexOf('amount'), columns.indexOf('balance')]
  let sum = 0n
  let wrong = 0
  for (const line of linesOf(page.statement).toReversed()) {
    const cells = line.split(',')
    sum += nano(cells[amount])
    if (nano(cells[balance]) !== sum) wrong += 1
  }
  same('lines of the statement whose balance does not follow', wrong, 0)
  same('the sum of the statement', sum, credited - charged)
  same('the wallet', nano(page.wallet.balance), credited - charged)
  same('what is held', nano(page.wallet.held), 0n)
  same('the closing of the invoice', nano(page.invoice.closing), credited - charged)
}
