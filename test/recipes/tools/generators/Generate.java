import java.nio.file.Files;
import java.nio.file.Path;
import org.openapitools.codegen.OpenAPIGenerator;

/** Runs openapi-generator several times in one Java, which takes half of what one for each does: by the lines of each file. */
class Generate {
    public static void main(String[] files) throws Exception {
        System.setErr(System.out);
        for (String file : files) {
            System.out.println("=== " + file);
            OpenAPIGenerator.main(Files.readAllLines(Path.of(file)).toArray(String[]::new));
        }
    }
}
