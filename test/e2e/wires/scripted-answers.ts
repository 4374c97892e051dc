import { type Mind, POLITE, sayingOf } from '../../fakes/polite-model.ts'

/** It does as it is told, and where it is told to do it aloud it says so before it calls anything. */
export const spokenMind = (countsOf: Mind['countsOf'] = POLITE.countsOf): Mind => ({
  sayingOf(hearing) {
    const saying = sayingOf(hearing)
    const question = hearing.steps.findLast(({ from }) => from === 'user')?.text ?? ''
    return saying.calls.length > 0 && question.includes('aloud') ? { ...saying, words: ALOUD } : saying
  },
  countsOf,
})

const ALOUD = ['I will', ' do', ' it.']
