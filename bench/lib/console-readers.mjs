// People who read in the console, in a process that gives way to others: browsers do not run on the machine of the server.
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { millrace } from '../../test/program/program.mjs'

/** Between two looks of one of them. */
const PAUSE_MS = 400
const DAY = 86_400_000
const PASSWORD = 'a password for a bench'

setPriority(10)
let reading = false

process.on('message', async (message) => {
  if (message === 'stop') reading = false
  else if (message === 'read') process.send(await readUntilStopped())
  else {
    await enter(message)
    process.send('ready')
  }
})
process.on('disconnect', () => process.exit())

let origin
let cookie
let people
let place

async function enter({ port, link, people: count, place: served }) {
  place = served
  origin = `http://127.0.0.1:${port}`
  people = count
  const code = /[^/#?=]+$/.exec(link.trim())[0]
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin }
  const body = JSON.stringify({ code, password: PASSWORD })
  const signedUp = await fetch(`${origin}/console/api/sign-up`, { method: 'POST', headers, body })
  if (!signedUp.ok) throw new Error(`the sign-up failed: ${await signedUp.text()}`)
  cookie = signedUp.headers.getSetCookie()[0].split(';')[0]
}

async function readUntilStopped() {
  reading = true
  const told = { questions: 0, lines: 0, proofs: 0, took: {} }
  const all = questions()
  const looking = Array.from({ length: people }, (_, person) => look(told, all, person))
  await Promise.all([...looking, exportAll(told), prove(told)])
  return told
}

function questions() {
  const day = (days) => new Date(Date.now() + DAY - days * DAY).toISOString().slice(0, 10)
  const range = (days) => `from=${day(days)}&to=${day(0)}&zone=Asia/Kolkata`
  return {
    'usage of a year': `usage?${range(366)}&step=day&by=model`,
    'usage of 16 days by hour and key': `usage?${range(16)}&step=hour&by=key`,
    'the newest requests': 'requests?limit=50',
    'requests that a filter hardly finds': 'requests?limit=50&model=nobody-asked-for',
    'requests that failed': 'requests?limit=50&outcome=not_ok',
    'the wallet': 'wallet',
    'a page of the statement': `wallet/statement?limit=50&from=${day(200)}&to=${day(190)}&zone=UTC`,
    'the plan': 'plan',
    'the overview': 'overview',
    'what was used lately': 'overview/usage?zone=Asia/Kolkata',
  }
}

async function look(told, all, person) {
  const names = Object.keys(all)
  for (let number = person; reading; number++) {
    const name = names[number % names.length]
    const began = performance.now()
    const { status, text } = await get(all[name])
    if (status === 200) {
      const took = told.took[name] ?? []
      took.push(performance.now() - began)
      told.took[name] = took
      told.questions += 1
    } else if (status !== 429) throw new Error(`${name}: ${status} ${text}`)
    await sleep(status === 429 ? 1000 : PAUSE_MS)
  }
}

async function get(path) {
  const answer = await fetch(`${origin}/console/api/${path}`, { headers: { cookie } })
  return { status: answer.status, text: await answer.text() }
}

/** As fast as it comes, and given up when the time is over. */
async function exportAll(told) {
  while (reading) {
    const answer = await fetch(`${origin}/console/api/wallet/statement.csv`, { headers: { cookie } })
    if (!answer.ok) throw new Error(`the statement: ${answer.status}`)
    for await (const piece of answer.body) {
      told.lines += Buffer.from(piece).toString().split('\n').length - 1
      if (!reading) break
    }
  }
}

/** The server proves them; here it is only asked to, again and again. */
async function prove(told) {
  while (reading) {
    await millrace(place, 'db', 'verify')
    told.proofs += 1
  }
}
