import { setTimeout as sleep } from 'node:timers/promises'
import { millrace } from '../../program/program.mjs'

const AGAIN_MS = 500

/** Commands on the database itself, while nodes die: each is repeated until it has been carried out. */
export function createOperator(place, accounts) {
  const credits = []
  const done = { credit: 0, plan: 0, cap: 0, again: 0 }
  const { keyIds } = accounts.find(({ email }) => email === 'capped@localhost')
  const command = async (...words) => {
    for (;;) {
      try {
        return await millrace(place, ...words)
      } catch {
        done.again += 1
        await sleep(AGAIN_MS)
      }
    }
  }
  const actions = {
    /** The reference makes it safe to repeat. */
    async credit() {
      const credit = { ref: `top-${credits.length + 1}`, amount: '0.05' }
      credits.push(credit)
      await command('wallet', 'credit', 'modest@localhost', credit.amount, '--reason', 'test', '--ref', credit.ref)
    },
    plan: () => command('plans', 'assign', 'builder@localhost', done.plan % 2 === 0 ? 'builder-more' : 'builder'),
    cap: () => command('keys', 'caps', keyIds[0], '--day', ((8 + 4 * done.cap) / 1000).toFixed(3)),
  }
  return {
    credits,
    done,
    async act() {
      const kinds = Object.keys(actions)
      const kind = kinds[(done.credit + done.plan + done.cap) % kinds.length]
      done[kind] += 1
      await actions[kind]()
    },
  }
}
