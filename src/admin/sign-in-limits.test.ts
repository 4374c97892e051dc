import { beforeEach, describe, expect, it } from 'vitest'
import { createSignInTries, type SignInTries } from './sign-in-limits.ts'

let micros: number
let tries: SignInTries
/** What outlives the process. */
let kept: Map<string, number>
let writes: number

const clock = { now: () => micros / 1000, nowMicros: () => micros }
const keeper = {
  keep({ name, until }: { name: string; until: number }) {
    writes += 1
    kept.set(name, until)
  },
  drop: (name: string) => void kept.delete(name),
}
const open = () => createSignInTries({ clock, keeper, digest: (name) => `<${name}>` })
beforeEach(() => {
  micros = 1_000_000
  kept = new Map()
  writes = 0
  tries = open()
})

const MINUTE = 60_000_000
const DAY = 24 * 60 * MINUTE
const HOME = '192.0.2.1'
const who = (email: string, address: string | undefined = HOME, device?: string) => ({ email, address, device })
const take = (...trier: Parameters<typeof who>) => tries.take(who(...trier))
const takeMany = (count: number, trier: (index: number) => Parameters<typeof who>) =>
  Array.from({ length: count }, (_, index) => take(...trier(index)).kind)
const TAKEN = (count: number) => Array(count).fill('taken')
/** An address in a network of its own. */
const far = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`
const signInFrom = (address: string, email = 'ann', device?: string) => {
  expect(take(email, address, device).kind).toBe('taken')
  tries.forgive(who(email, address, device))
}

describe('tries of one email from one network', () => {
  it('are five, then one every three minutes, without a stated delay', () => {
    expect(takeMany(5, () => ['ann'])).toEqual(TAKEN(5))
    expect(take('ann')).toEqual({ kind: 'locked', of: 'pair', first: true })
    micros += 3 * MINUTE - 1
    expect(take('ann')).toEqual({ kind: 'locked', of: 'pair', first: false })
    micros += 1
    expect([take('ann').kind, take('ann').kind]).toEqual(['taken', 'locked'])
  })

  it('are separate from other emails and networks', () => {
    takeMany(6, () => ['ann'])
    expect(take('ben').kind).toBe('taken')
    expect(take('ann', '192.0.2.2').kind).toBe('taken')
  })

  it('are all back after a right password, and after 15 minutes', () => {
    takeMany(5, () => ['ann'])
    tries.forgive(who('ann'))
    expect(takeMany(6, () => ['ann'])).toEqual([...TAKEN(5), 'locked'])
    micros += 15 * MINUTE
    expect(takeMany(5, () => ['ann'])).toEqual(TAKEN(5))
    expect(take('ann')).toMatchObject({ first: true })
  })

  it('do not count without a check', () => {
    for (let times = 0; times < 150; times++) {
      expect(take('ann').kind).toBe('taken')
      tries.giveBack(who('ann'))
    }
  })

  it('count for a whole network of IPv6, and for IPv4 written as IPv6', () => {
    takeMany(5, (index) => ['ann', `2001:db8::${index + 1}`])
    expect(take('ann', '2001:db8::ffff')).toMatchObject({ of: 'pair' })
    expect(take('ann', '2001:db8:0:1::1').kind).toBe('taken')
    takeMany(5, () => ['ann', '192.0.2.7'])
    expect(take('ann', '::ffff:192.0.2.7')).toMatchObject({ of: 'pair' })
  })
})

describe('tries of one network', () => {
  it('are twenty for all emails, without refused ones', () => {
    takeMany(30, () => ['ann'])
    expect(takeMany(15, (index) => [`name ${index}`])).toEqual(TAKEN(15))
    expect(take('another')).toEqual({ kind: 'locked', of: 'network', first: true })
    expect(take('another', '192.0.2.2').kind).toBe('taken')
  })

  it('get only the right password back', () => {
    takeMany(19, (index) => [`name ${index}`])
    signInFrom(HOME)
    expect(take('ben').kind).toBe('taken')
    expect(take('cyd').kind).toBe('locked')
  })
})

describe('tries of one email from many networks', () => {
  it('are a hundred, then a hundred an hour', () => {
    expect(takeMany(1000, (index) => ['ann', far(index)]).filter((kind) => kind === 'taken')).toHaveLength(100)
    expect(take('ann', far(2000))).toMatchObject({ kind: 'locked', of: 'email' })
    micros += 60 * MINUTE
    expect(takeMany(1000, (index) => ['ann', far(index)]).filter((kind) => kind === 'taken')).toHaveLength(100)
  })

  it('are not reset by a right password', () => {
    signInFrom(HOME)
    takeMany(1000, (index) => ['ann', far(index)])
    for (let times = 0; times < 50; times++) signInFrom(HOME)
    expect(takeMany(100, (index) => ['ann', far(5000 + index)])).not.toContain('taken')
  })

  it('are reported a few times for any number of networks', () => {
    const reported = () =>
      Array.from({ length: 500 }, (_, index) => {
        for (let count = 0; count < 5; count++) take('ann', far(index))
        return take('ann', far(index))
      }).filter((outcome) => outcome.kind === 'locked' && outcome.first)
    expect(reported().length).toBeLessThanOrEqual(4)
  })
})

describe('the tries of strangers', () => {
  const attack = (networks: number) => {
    for (let index = 0; index < networks; index++) takeMany(12, () => ['ann', far(index)])
  }

  it.each([1, 1000])('from %i networks locks out no device that has signed in before', (networks) => {
    attack(networks)
    for (const address of [HOME, far(0), far(networks - 1), undefined]) {
      expect(take('ann', address, 'laptop')).toEqual({ kind: 'taken', isKnown: true })
      tries.forgive(who('ann', address, 'laptop'))
    }
  })

  it.each([1, 1000])('from %i networks locks out no network that has signed in before', (networks) => {
    signInFrom(HOME)
    attack(networks)
    takeMany(100, (index) => [`name ${index}`, HOME])
    expect(take('ann', HOME)).toEqual({ kind: 'taken', isKnown: true })
  })

  it('from one network, for however long, locks out no new device elsewhere', () => {
    for (let minutes = 0; minutes < 60 * 24; minutes++) {
      takeMany(2, () => ['ann', far(1)])
      micros += MINUTE
      if (minutes % 60 === 0) expect(take('ann', far(1000 + minutes)).kind).toBe('taken')
    }
  })

  it('from one network locks that network out of no other email that has signed in from it', () => {
    signInFrom(HOME, 'ben')
    takeMany(100, (index) => [`name ${index}`, HOME])
    expect(take('ben', HOME).kind).toBe('taken')
    expect(take('cyd', HOME).kind).toBe('locked')
  })
})

describe('a device or a network that has signed in before', () => {
  it('has its own tries, as many as others', () => {
    expect(takeMany(6, () => ['ann', HOME, 'laptop'])).toEqual([...TAKEN(5), 'locked'])
    expect(take('ann', HOME, 'phone').kind).toBe('taken')
    expect(take('ann', HOME).kind).toBe('taken')
    signInFrom('192.0.2.9')
    expect(takeMany(6, () => ['ann', '192.0.2.9'])).toEqual([...TAKEN(5), 'locked'])
  })

  it('is known for that email only', () => {
    signInFrom(HOME, 'ben')
    takeMany(1000, (index) => ['ann', far(index)])
    expect(take('ann', HOME).kind).toBe('locked')
  })

  it('is remembered for ninety days, over a restart too', () => {
    signInFrom(HOME)
    const restart = () => {
      tries = open()
      tries.restore([...kept].map(([name, until]) => ({ name, until })))
      takeMany(1000, (index) => ['ann', far(index)])
    }
    micros += 89 * DAY
    restart()
    expect(take('ann', HOME).kind).toBe('taken')
    micros += 2 * DAY
    restart()
    expect(take('ann', HOME).kind).toBe('locked')
  })

  it('is stored once a day', () => {
    for (let times = 0; times < 100; times++) signInFrom(HOME)
    expect(writes).toBe(1)
    micros += 2 * DAY
    signInFrom(HOME)
    expect(writes).toBe(2)
  })
})

describe('a session that confirms its password', () => {
  const ask = (session: string) => tries.take({ session })

  it('has five tries of its own', () => {
    takeMany(1000, (index) => ['ann', far(index)])
    takeMany(100, (index) => [`name ${index}`, HOME])
    const asked = Array.from({ length: 6 }, () => ask('sess_1').kind)
    expect(asked).toEqual([...TAKEN(5), 'locked'])
    expect(ask('sess_2').kind).toBe('taken')
    tries.forgive({ session: 'sess_1' })
    expect(ask('sess_1').kind).toBe('taken')
  })
})

describe('a new password by a link', () => {
  it('resets all tries of the email', () => {
    takeMany(6, () => ['ann'])
    takeMany(1000, (index) => ['ann', far(index)])
    tries.reset(who('ann'))
    expect(take('ann').kind).toBe('taken')
    expect(take('ann', far(3000)).kind).toBe('taken')
  })
})

describe('a restart', () => {
  const restart = () => {
    tries = open()
    tries.restore([...kept].map(([name, until]) => ({ name, until })))
  }

  it('lifts no lockout, and makes none longer', () => {
    takeMany(6, () => ['ann'])
    micros += MINUTE
    restart()
    expect(take('ann')).toEqual({ kind: 'locked', of: 'pair', first: false })
    micros += 2 * MINUTE
    expect([take('ann').kind, take('ann').kind]).toEqual(['taken', 'locked'])
    restart()
    micros += 3 * MINUTE - 1
    expect(take('ann').kind).toBe('locked')
    micros += 15 * MINUTE
    restart()
    expect(takeMany(6, () => ['ann'])).toEqual([...TAKEN(5), 'locked'])
  })

  it('lifts none of a network, of an email, of a device or of a session either', () => {
    takeMany(21, (index) => [`name ${index}`, '203.0.113.7'])
    takeMany(101, (index) => ['ann', far(index)])
    takeMany(6, () => ['ben', HOME, 'laptop'])
    for (let count = 0; count < 6; count++) tries.take({ session: 'sess_1' })
    restart()
    expect(take('another', '203.0.113.7')).toMatchObject({ of: 'network' })
    expect(take('ann', far(500))).toMatchObject({ of: 'email' })
    expect(take('ben', HOME, 'laptop')).toMatchObject({ of: 'device' })
    expect(tries.take({ session: 'sess_1' })).toMatchObject({ of: 'session' })
    expect(take('cyd', '203.0.113.8').kind).toBe('taken')
  })

  it('brings nothing back that was forgiven', () => {
    takeMany(6, () => ['ann'])
    micros += 3 * MINUTE
    expect(take('ann').kind).toBe('taken')
    tries.forgive(who('ann'))
    expect([...kept.keys()].filter((name) => !name.startsWith('known:'))).toEqual([])
  })

  it('bounds a restored lockout after clock changes', () => {
    tries.restore([{ name: `pair:<ann ${HOME}>`, until: micros / 1000 + 1e12 }])
    expect(take('ann')).toMatchObject({ kind: 'locked' })
    micros += 15 * MINUTE
    expect(takeMany(5, () => ['ann'])).toEqual(TAKEN(5))
  })

  it('costs no write for what is refused, however often it is tried', () => {
    for (let count = 0; count < 1000; count++) take('ann')
    expect(writes).toBe(1)
    micros += 3 * MINUTE
    for (let count = 0; count < 1000; count++) take('ann')
    expect(writes).toBe(2)
  })
})
