import { expect, it } from 'vitest'
import { mergeMetrics } from './merge-metrics.ts'
import { createMetrics } from './metrics.ts'

it('describes each family once, and tells the workers apart by a label', () => {
  const of = (count: number) => `# HELP a_total What it counts.
# TYPE a_total counter
a_total{model="x{y",outcome="a \\"b\\""} ${count}

# HELP b Now.
# TYPE b gauge
b 7
`
  const alone = '# HELP c Only here.\n# TYPE c histogram\nc_bucket{le="+Inf"} 1\nc_sum 2\nc_count 1\n'
  const merged = mergeMetrics([
    { worker: 1, text: of(1) },
    { worker: 2, text: of(2) + alone },
  ])
  expect(merged).toBe(`# HELP a_total What it counts.
# TYPE a_total counter
a_total{worker="1",model="x{y",outcome="a \\"b\\""} 1
a_total{worker="2",model="x{y",outcome="a \\"b\\""} 2

# HELP b Now.
# TYPE b gauge
b{worker="1"} 7
b{worker="2"} 7

# HELP c Only here.
# TYPE c histogram
c_bucket{worker="2",le="+Inf"} 1
c_sum{worker="2"} 2
c_count{worker="2"} 1
`)
})

it('keeps every sample of the metrics of a process', async () => {
  const { body } = await createMetrics().render()
  const samplesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const merged = samplesOf(mergeMetrics([{ worker: 3, text: body }]))
  const without = merged.map((line) => line.replace('{worker="3"}', '').replace('worker="3",', ''))
  expect(without.sort()).toEqual(samplesOf(body).sort())
})

it('of no process that answers is nothing', () => {
  expect(mergeMetrics([])).toBe('')
})
