import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

it('lists models, including those without a price or efforts', async () => {
  const price = { input: '1.00', cached_input: '0.10', cache_write: '1.25', output: '5.00' }
  const model = {
    inputs: ['text'],
    context_tokens: 1000,
    counted_beyond_context: null,
    kinds: ['wallet'],
    imported_from: null,
  }
  const lane = (id: string, prompt_cache: string | null) => ({ id, prompt_cache })
  const models = [
    { ...model, id: 'a', efforts: ['low', 'high'], price, lanes: [lane('x/a', 'system'), lane('y/a', 'system')] },
    { ...model, imported_from: 'x/*', id: 'b', efforts: null, price: null, lanes: [lane('x/b', null)] },
    { ...model, id: 'c', efforts: [], price, lanes: [], counted_beyond_context: 8000 },
  ]
  const { emitted, run } = commandLine({ operations: { 'models.list': done({ models }) } })
  expect(await run('models')).toBe(0)
  expect(emitted.out).toMatch(/^a +low high +text +1000 +1\.00 +0\.10 +1\.25 +5\.00 +system +wallet +x\/a y\/a$/m)
  expect(emitted.out).toMatch(/^b +any +text +1000 +no price +wallet +x\/b$/m)
  expect(emitted.out).toMatch(/^c +none /m)
  expect(emitted.err).toBe(
    '1 model imported from x/*.\nwarning: c: context_tokens is 1000, but a provider counted 8000 input tokens: it looks too small.\n',
  )
  const empty = commandLine({ operations: { 'models.list': done({ models: [] }) } })
  await empty.run('models')
  expect(empty.emitted).toEqual({ out: '', err: 'The configuration has no models.\n' })
})
