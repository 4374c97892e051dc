import { copyDist } from '../../program/copies.mjs'
import { printViolations } from './figures.mjs'
import { finish } from './finish.mjs'
import { carryOut } from './procedures.mjs'
import { createStage } from './stage.mjs'

/**
 * Each procedure is carried out on the true order first, which must stand, and then on each mutant of it, which must be
 * caught: in every round where there are rounds, and by the invariants that it says.
 */
export async function proveMutants(stageContext, mutants) {
  const controls = new Set()
  for (const mutant of mutants) {
    const control = `${mutant.procedure}${mutant.control ? ', slowed down' : ''}`
    if (!controls.has(control)) await proveControl(stageContext, control, mutant)
    controls.add(control)
    await proveMutant(stageContext, mutant)
  }
}

async function proveControl(stageContext, control, { procedure, control: replacements }) {
  const { observed, caught, violations } = await perform(stageContext, procedure, replacements)
  const rounds = observed.length > 0 ? `, caught in ${caught} of ${observed.length}` : ''
  stageContext.tally.check(violations.length === 0, `true order, ${control}: ${violations.length} violations${rounds}`)
  if (violations.length > 0) printViolations(violations)
}

async function proveMutant(stageContext, { name, says, procedure, replacements, caughtBy }) {
  const { observed, caught, violations } = await perform(stageContext, procedure, replacements)
  const rounds = observed.length > 0 ? `caught in ${caught} of ${observed.length}, ` : ''
  const counts = countBy(violations)
  const seen = [...counts].map(([invariant, count]) => `${invariant} (${count})`).join(', ') || 'nothing'
  const passed = caught === observed.length && caughtBy.every((invariant) => counts.has(invariant))
  stageContext.tally.check(passed, `mutant ${name} (${says}), ${procedure}: ${rounds}by ${seen}`)
}

async function perform({ trueDist, dist, template, accounts, random, slackMs, providerPort }, procedure, replacements) {
  const mutated = replacements && copyDist(dist, replacements)
  const stage = await createStage({ dist: mutated?.dist ?? trueDist, template, random, providerPort })
  try {
    const observed = await carryOut({ name: procedure, stage, accounts, random })
    const { violations } = await finish({ stage, trueDist, slackMs })
    const blamed = new Set(violations.map(({ id }) => id))
    return { observed, violations, caught: observed.filter(({ id }) => blamed.has(id)).length }
  } finally {
    stage.clear()
    mutated?.clear()
  }
}

function countBy(violations) {
  const counts = new Map()
  for (const { invariant } of violations) counts.set(invariant, (counts.get(invariant) ?? 0) + 1)
  return counts
}
