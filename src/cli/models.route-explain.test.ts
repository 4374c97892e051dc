import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

it('tells where a request would go, who is left alone, and what is not known without a server', async () => {
  const lane = { priority: 1, weight: 3, first_percent: 0, asked: true, aside: null, cannot: [] }
  const lanes = [
    { ...lane, id: 'a/m', first_percent: 75, cannot: ['n', 'stop'] },
    { ...lane, id: 'b/m', aside: { reason: 'locked-out', seconds_left: 0 } },
    { ...lane, id: 'c/m', asked: false, aside: { reason: 'failing', seconds_left: 17 } },
    { ...lane, id: 'd/m', asked: false, aside: { reason: 'failing', seconds_left: 0 } },
  ]
  const view = { model: 'm', effort: null, has_price: true, server_runs: false, lanes }
  const { asked, said, run } = commandLine({ operations: { 'route.explain': done(view) } })
  expect(await run('route explain m')).toBe(0)
  expect(asked[0]?.args).toEqual({ model: 'm' })
  expect(said.out).toMatch(/a\/m +1 +3 +75 % +is asked +n stop\n/)
  expect(said.out).toMatch(
    /b\/m .* refuses the credential, the account or the model name; whoever comes to it next tries it\n/,
  )
  expect(said.out).toMatch(/c\/m +1 +3 +0 % +has failed; left alone for 17 s\n/)
  expect(said.out).toMatch(/d\/m .* has failed; somebody is trying it\n/)
  expect(said.err).toMatch(/No server runs here/)
  expect(said.err).not.toMatch(/No lane is asked now/)
  const noted = async (...left: typeof lanes) => {
    const server = { ...view, server_runs: true, has_price: false, lanes: left }
    const alone = commandLine({ operations: { 'route.explain': done(server) } })
    await alone.run('route explain m')
    return alone.said.err
  }
  const nobody = await noted(...lanes.slice(2))
  expect(nobody).toMatch(/no price[\s\S]*No lane is asked now/)
  expect(nobody).not.toMatch(/No server/)
  expect(await noted(...lanes.slice(1))).not.toMatch(/No lane is asked now/)
})
