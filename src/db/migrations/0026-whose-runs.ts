/**
 * `run` of a key: whether its requests need a run, or which budget each conversation gets; `step_down`: its cheaper model near a cap. `person` of a run: whose key began it, because
 * a member sees only those.
 */
export const whoseRunsMigration: readonly string[] = [
  'ALTER TABLE keys ADD COLUMN run TEXT',
  'ALTER TABLE keys ADD COLUMN step_down TEXT',
  'ALTER TABLE runs ADD COLUMN person INTEGER',
  'CREATE INDEX runs_of_account ON runs (account)',
  'CREATE INDEX runs_of_person ON runs (person) WHERE person IS NOT NULL',
]
