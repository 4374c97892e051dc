import { fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { median } from './measure.mjs'

const HERE = fileURLToPath(new URL('../..', import.meta.url))
const ROUNDS_SCRIPT = fileURLToPath(new URL('ledger-rounds.mjs', import.meta.url))
const CONCURRENT = [8, 64]

/** The same requests on this checkout and on another one that is built too, by turns: what the machine does else is the same for both. */
export async function compareCheckouts({ beside, accounts, receipts, requests, rounds }) {
  const both = [beside, HERE].map((checkout) => fork(ROUNDS_SCRIPT, [checkout, accounts, receipts].map(String)))
  await Promise.all(both.map((child) => once(child, 'message')))
  console.log(
    `${accounts} accounts, ${receipts} receipts before; ${requests} requests a round, ${rounds} rounds by turns, load ${loadavg()[0].toFixed(1)}; CPU us/request\n`,
  )
  for (const child of both) await round(child, 64, requests)
  for (const concurrent of CONCURRENT) await compare(both, { concurrent, requests, rounds })
  for (const child of both) child.disconnect()
}

async function round(child, concurrent, requests) {
  child.send({ concurrent, requests })
  const [{ cpu }] = await once(child, 'message')
  return cpu
}

async function compare([other, here], { concurrent, requests, rounds }) {
  console.log(`| ${concurrent} concurrent | the other | this | ratio |\n|---|---|---|---|`)
  const results = []
  for (let number = 1; number <= rounds; number++) {
    const order = number % 2 === 0 ? [other, here] : [here, other]
    const cpu = new Map()
    for (const child of order) cpu.set(child, await round(child, concurrent, requests))
    results.push([cpu.get(other), cpu.get(here)])
    console.log(
      `| round ${number} | ${cpu.get(other).toFixed(1)} | ${cpu.get(here).toFixed(1)} | ${(cpu.get(here) / cpu.get(other)).toFixed(3)} |`,
    )
  }
  const of = (index) => median(results.map((each) => each[index]))
  const ratio = median(results.map(([one, mine]) => mine / one))
  console.log(`| median | ${of(0).toFixed(1)} | ${of(1).toFixed(1)} | ${ratio.toFixed(3)} |\n`)
}
