/**
 * What a compaction made of its conversation. Without a CHECK or a default nothing but the schema is written: a file with
 * millions of receipts is opened as quickly as an empty one.
 */
export const compactionMigration: readonly string[] = [
  `ALTER TABLE receipts ADD COLUMN tokens_before INTEGER`,
  `ALTER TABLE receipts ADD COLUMN tokens_after INTEGER`,
]
