import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

it('shows available lanes, open circuits, and what is unknown without a server', async () => {
  const lane = { priority: 1, weight: 3, first_percent: 0, asked: true, aside: null, cannot: [] }
  const lanes = [
    { ...lane, id: 'a/m', first_percent: 75, cannot: ['n', 'stop'] },
    { ...lane, id: 'b/m', aside: { reason: 'locked-out', seconds_left: 0 } },
    { ...lane, id: 'c/m', asked: false, aside: { reason: 'failing', seconds_left: 17 } },
    { ...lane, id: 'd/m', asked: false, aside: { reason: 'failing', seconds_left: 0 } },
  ]
  const view = { model: 'm', effort: null, has_price: true, server_runs: false, lanes }
  const { asked, emitted, run } = commandLine({ operations: { 'route.explain': done(view) } })
  expect(await run('route explain m')).toBe(0)
  expect(asked[0]?.args).toEqual({ model: 'm' })
  expect(emitted.out).toMatch(/a\/m +1 +3 +75 % +available +n stop\n/)
  expect(emitted.out).toMatch(
    /b\/m .* rejects the credential, the account or the model name; half-open, the next request tries it\n/,
  )
  expect(emitted.out).toMatch(/c\/m +1 +3 +0 % +failing; circuit open for 17 s\n/)
  expect(emitted.out).toMatch(/d\/m .* failing; half-open, a request is trying it\n/)
  expect(emitted.err).toMatch(/No server is running here/)
  expect(emitted.err).not.toMatch(/No lane is available/)
  const noted = async (...left: typeof lanes) => {
    const server = { ...view, server_runs: true, has_price: false, lanes: left }
    const alone = commandLine({ operations: { 'route.explain': done(server) } })
    await alone.run('route explain m')
    return alone.emitted.err
  }
  const unavailable = await noted(...lanes.slice(2))
  expect(unavailable).toMatch(/no price[\s\S]*No lane is available/)
  expect(unavailable).not.toMatch(/No server/)
  expect(await noted(...lanes.slice(1))).not.toMatch(/No lane is available/)
})
