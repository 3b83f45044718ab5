/** How many rows a MariaDB has read so far, by whatever way. */
export const rowsRead = async (connection) => {
  const [rows] = await connection.query("SHOW GLOBAL STATUS LIKE 'Handler_read%'");
  return rows.reduce((sum, row) => sum + Number(row.Value), 0);
};
