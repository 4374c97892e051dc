import { expect, it } from 'vitest'
import { createLinkEnd, type LinkMessage } from './worker-link.ts'

/** Both ends in one process, with a channel that carries what JSON carries. */
function link(answers: object) {
  const notices: string[] = []
  const carried = (message: LinkMessage): LinkMessage => JSON.parse(JSON.stringify(message))
  const here: ReturnType<typeof createLinkEnd> = createLinkEnd({
    send: (message) => there.receive(carried(message)),
    onNotice: () => {},
    answers: () => ({}),
  })
  const there: ReturnType<typeof createLinkEnd> = createLinkEnd({
    send: (message) => here.receive(carried(message)),
    onNotice: (notice) => notices.push(notice),
    answers: () => answers,
  })
  return { here, notices }
}

it('answers each question with its own answer', async () => {
  const { here } = link({ double: async (number: number) => 2 * number })
  expect(await Promise.all([1, 2, 3].map((number) => here.ask('double', number)))).toEqual([2, 4, 6])
})

it('tells why there is no answer', async () => {
  const { here } = link({
    async fail() {
      throw new Error('the disk is full')
    },
  })
  await expect(here.ask('fail')).rejects.toThrow('the disk is full')
  expect(await here.ask('a question of another version')).toBeUndefined()
})

it('has no answer of a process that ends', async () => {
  const { here } = link({ wait: () => new Promise(() => {}) })
  const asked = here.ask('wait')
  here.end()
  await expect(asked).rejects.toThrow('has ended')
  await expect(here.ask('wait')).rejects.toThrow('has ended')
})

it('carries notices in their order', () => {
  const { here, notices } = link({})
  for (const notice of ['ready', 'reload', 'stop'] as const) here.notify(notice)
  expect(notices).toEqual(['ready', 'reload', 'stop'])
})
