import { describe, expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

const moved = { email: 'a@b.c', amount: '-2.50', ref: 'r1', available: '7.50', repeated: false }
const why = '--reason because --ref r1'

describe('manual movements of money', () => {
  it.each([
    ['credit', 'wallet.credit', 'Credited 2.50 USD to a@b.c.', 'Already credited: 2.50 USD to a@b.c under ref r1.'],
    ['refund', 'wallet.refund', 'Refunded 2.50 USD to a@b.c.', 'Already refunded under ref r1.'],
    ['adjust', 'wallet.adjust', 'Adjusted a@b.c by 2.50 USD.', 'Already adjusted under ref r1.'],
  ])('%s reports the movement, and that a repeated reference changes nothing', async (command, name, did, was) => {
    for (const repeated of [false, true]) {
      const outcome = done({ ...moved, amount: '2.50', repeated })
      const { emitted, run } = commandLine({ operations: { [name]: outcome } })
      expect(await run(`wallet ${command} a@b.c 2.50 ${why}`)).toBe(0)
      expect(emitted.out).toContain(repeated ? was : did)
      expect(emitted.out.includes('Nothing was')).toBe(repeated)
      expect(emitted.err).toBe('Available now: 7.50 USD.\n')
    }
  })

  it('adjust adds, or subtracts with --take', async () => {
    const { asked, run } = commandLine({ operations: { 'wallet.adjust': done(moved) } })
    await run(`wallet adjust a@b.c 1 ${why}`)
    await run(`wallet adjust a@b.c 1 --take ${why}`)
    const args = { account: 'a@b.c', amount: '1', reason: 'because', ref: 'r1' }
    expect(asked.map((each) => each.args)).toEqual([
      { ...args, direction: 'add' },
      { ...args, direction: 'take' },
    ])
  })
})
