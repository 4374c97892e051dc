import { millrace } from '../../program/program.mjs'

/** The exit code of a command whose server broke off in the middle. */
const EXIT_SERVER_BROKE_OFF = 5

/** What an operator does while everything runs. A kill may fall into any of it; then it is done again until it is told. */
export function createOperator({ stage, accounts, random }) {
  const credits = []
  const done = { credit: 0, plan: 0, gap: 0, cap: 0, again: 0 }
  const { keyIds } = accounts.find(({ email }) => email === 'capped@localhost')
  let capMills = 8

  const command = (...words) => commandUntil(() => false, ...words)

  /** A command that broke off may have been carried out: then the next try is refused, with an output by which `isDone` knows it. */
  async function commandUntil(isDone, ...words) {
    for (let tries = 1; ; tries++) {
      try {
        return await millrace(stage.place, ...words)
      } catch (error) {
        if (tries > 1 && isDone(error)) return
        if (error.code !== EXIT_SERVER_BROKE_OFF) throw error
        done.again += 1
      }
    }
  }

  const actions = {
    /** The reference makes it safe to try until it is acknowledged. */
    async credit() {
      const credit = { ref: `top-${credits.length + 1}`, amount: '0.05' }
      credits.push(credit)
      await command('wallet', 'credit', 'modest@localhost', credit.amount, '--reason', 'chaos', '--ref', credit.ref)
    },
    async plan() {
      await command('plans', 'assign', 'builder@localhost', random.pick(['builder', 'builder-more']))
    },
    async gap() {
      const isEnded = ({ out }) => out.includes('no active subscription')
      await commandUntil(isEnded, 'plans', 'end', 'narrow@localhost')
      await command('plans', 'assign', 'narrow@localhost', 'narrow')
    },
    /** Raised mostly, and now and then below what was used. */
    async cap() {
      capMills = random.chance(0.2) ? 5 : capMills + 4
      await command('keys', 'caps', random.pick(keyIds), '--day', (capMills / 1000).toFixed(3))
    },
  }

  return {
    credits,
    done,
    /** The kinds of acts in turn: each of them comes in every run. */
    async act() {
      const kinds = Object.keys(actions)
      const kind = kinds[(done.credit + done.plan + done.gap + done.cap) % kinds.length]
      done[kind] += 1
      await actions[kind]()
    },
  }
}
